"""What training from Python raises; messages are the runtime's."""


class Error(RuntimeError):
    """A file, a kernel or a rank failed. A run whose ranks failed cannot go on."""


class ArgumentError(Error, ValueError):
    """A name, shape, type or option is wrong; nothing has changed."""


class StateError(Error):
    """Not now, such as an update before a backward; nothing has changed."""
