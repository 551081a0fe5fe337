"""Every plan that a search over meshes reports is the one that zero-plan makes of its
settings, to the byte and to the second: check_meshes.py MODEL SEARCH.json [SETTING...]"""

import json
import subprocess
import sys

model, path, *given = sys.argv[1:]
search = json.load(open(path))
speeds = []
for row in search["meshes"]:
    plan = row["plan"]
    settings = given + ["overlap=" + str(plan["overlap_comm"]).lower(),
                        "reduce-bucket-size=" + str(plan["reduce_bucket_size"]),
                        "allgather-bucket-size=" + str(plan["allgather_bucket_size"])]
    settings += ["checkpoint-activations=1"] if plan["recomputed"] != "none" else []
    if plan.get("pipeline_chunks", 1) > 1:
        settings += ["pipeline-schedule=" + plan["pipeline_schedule"],
                     "pipeline-chunks=" + str(plan["pipeline_chunks"])]
    text = subprocess.run(["zero-plan", model, "--mesh", row["mesh"], "--stage",
                           str(plan["stage"]), "--pipeline", " ".join(settings), "--json", "-"],
                          check=True, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL).stdout
    again = json.loads(text)
    found = plan["bytes"], plan["seconds"], plan["exposed_seconds"]
    if "pipe" in row["mesh"]:
        wanted = (max(stage["memory_bytes"] for stage in again["stages"]), again["seconds"],
                  again["bubble"] * again["pass_seconds"])
    else:
        prediction = again["prediction"]
        wanted = again["bytes"], prediction["seconds"], prediction["exposed_seconds"]
    if found != wanted:
        sys.exit(f"{row['mesh']} has {found} (bytes, seconds, exposed), wanted {wanted}")
    if row["fits"]:
        speeds.append(row["samples"] / plan["seconds"])
if not speeds or speeds != sorted(speeds, reverse=True):
    sys.exit(f"samples a second are {speeds}, wanted the most first")
