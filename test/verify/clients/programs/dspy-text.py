# DSPy with a model of the kind "text", which asks for completions of a prompt, and its embedder. Its chats are those of LiteLLM.

import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # Otherwise it looks for newer prices before it begins.

import dspy
from words import broken, conversations, tell

connection = {"api_base": f"{os.environ['BASE_URL']}/v1", "api_key": os.environ["KEY"]}


def hold(conversation):
    body, model = conversation["body"], f"openai/{conversation['body']['model']}"
    if conversation["name"] == "embeddings":
        embedder = dspy.Embedder(model, caching=False, **connection)
        return {"vectors": embedder(body["input"]).tolist()}
    lm = dspy.LM(model, model_type="text", cache=False, max_tokens=body["max_tokens"], **connection)
    return {"text": lm(body["messages"][0]["content"])[0]}


for conversation in conversations:
    try:
        tell(conversation, hold(conversation))
    except Exception:
        tell(conversation, broken())
