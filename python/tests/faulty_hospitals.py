"""The hospitals' client app with faults to order; a test puts it into a copy of the example.

Faults are in the node-config: ``garbage-in`` names the round whose model is no numbers,
``holds-in`` the round in which it waits, at work, for as long as the file ``hold`` is there.
What it is asked is in ``journal``, a line for each message.
"""

import time
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord, Context, Message
from flwr.clientapp import ClientApp

from hospitals.client_app import app as sound

app = ClientApp()


@app.train()
@app.evaluate()
def answer(message: Message, context: Context) -> Message:
    asked = message.content["config"]
    stage, number = str(asked["stage"]), int(asked["server-round"])
    with Path(str(context.node_config["journal"])).open("a", encoding="utf-8") as journal:
        journal.write(f"{stage} {number}\n")
    now = number if stage == "round" else 0
    if now and now == context.node_config.get("holds-in"):
        while Path(str(context.node_config["hold"])).exists():
            time.sleep(0.05)
    reply = sound(message, context)
    if now and now == context.node_config.get("garbage-in"):
        model = reply.content["arrays"]
        reply.content["arrays"] = ArrayRecord(
            [np.full(one.shape, np.nan, np.float32) for one in model.values()]
        )
    return reply
