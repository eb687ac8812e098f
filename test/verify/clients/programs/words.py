# What the programs in Python share: the conversations that they are given, and how they say what they got.

import json
import os
import traceback

with open(os.environ["CONVERSATIONS"], encoding="utf-8") as file:
    conversations = json.load(file)["conversations"]


def tell(conversation, got):
    print(json.dumps({"conversation": conversation["name"], "got": got}), flush=True)


def broken():
    return {"broken": traceback.format_exc()[-2000:]}


def got_of(message):
    usage = message.usage
    return {
        "text": "".join(block.text for block in message.content if block.type == "text"),
        "stopReason": message.stop_reason,
        "usage": {
            "input": usage.input_tokens,
            "cacheRead": usage.cache_read_input_tokens or 0,
            "cacheWrite": usage.cache_creation_input_tokens or 0,
            "output": usage.output_tokens,
        },
    }


def described(fault):
    body = getattr(fault, "body", None)
    error = body.get("error", body) if isinstance(body, dict) else {}
    return {"fault": type(fault).__name__, "status": getattr(fault, "status_code", None), "code": error.get("code")}


# What the user says to a message: the results of its calls, or what is next; nothing where the conversation is over.
def answer_to(message, results, following):
    calls = [block for block in message.content if block.type == "tool_use"]
    if calls:
        return [{"type": "tool_result", "tool_use_id": call.id, **results[call.name]} for call in calls]
    return following.pop(0) if following else None
