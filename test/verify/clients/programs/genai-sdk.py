# Google's GenAI SDK for Python.

import base64
import os

from google import genai
from google.genai import errors, types
from words import broken, conversations, tell

client = genai.Client(api_key=os.environ["KEY"], http_options={"base_url": os.environ["BASE_URL"]})
poor = genai.Client(api_key=os.environ["POOR_KEY"], http_options={"base_url": os.environ["BASE_URL"]})
stranger = genai.Client(api_key="sk-tp-nobodyhasthiskey", http_options={"base_url": os.environ["BASE_URL"]})


def fault_of(call):
    try:
        call()
    except Exception as fault:
        details = fault.details["error"].get("details", []) if isinstance(fault, errors.APIError) else []
        code = details[0]["metadata"]["code"] if details else None
        return {"fault": type(fault).__name__, "status": getattr(fault, "code", None), "code": code}
    return {}


def got_of(text, last):
    usage = last.usage_metadata
    cached = usage.cached_content_token_count or 0
    return {
        "text": text,
        "stopReason": last.candidates[0].finish_reason.lower(),
        "usage": {
            "input": usage.prompt_token_count - cached,
            "cacheRead": cached,
            "output": (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0),
        },
    }


def whole(chunks):
    text, calls, last = "", [], None
    for last in chunks:
        parts = (last.candidates[0].content and last.candidates[0].content.parts) or []
        text += "".join(part.text for part in parts if part.text and not part.thought)
        calls += [part.function_call for part in parts if part.function_call]
    return text, calls, last


def converse(asked, is_streamed, results, following):
    chat = client.chats.create(model=asked["model"], config=asked.get("config"))
    message = [types.Part.model_validate(part) for part in asked["contents"][0]["parts"]]
    while True:
        text, calls, last = whole(chat.send_message_stream(message) if is_streamed else [chat.send_message(message)])
        if calls:
            message = [
                types.Part(function_response=types.FunctionResponse(id=call.id, name=call.name, response=results[call.name]))
                for call in calls
            ]
        elif following:
            message = following.pop(0)
        else:
            return got_of(text, last)


def abort(asked):
    text = ""
    for chunk in client.models.generate_content_stream(**asked):
        text += chunk.text or ""
        if len(text) > 20:
            break
    return {"text": text}


def hold(conversation):
    asked, name = conversation["gemini"], conversation["name"]
    if name == "models":
        return {"models": [model.name.removeprefix("models/") for model in client.models.list()]}
    if name == "count":
        return {"inputTokens": client.models.count_tokens(model=asked["model"], contents=asked["contents"]).total_tokens}
    if name == "embeddings":
        embedded = client.models.embed_content(model=asked["model"], contents=conversation["body"]["input"])
        return {"vectors": [each.values for each in embedded.embeddings]}
    if name == "editing":
        body = conversation["body"]
        picture = types.Part.from_bytes(data=base64.b64decode(body["picture"]), mime_type="image/png")
        config = types.GenerateContentConfig(response_modalities=["IMAGE"])
        edited = client.models.generate_content(model=asked["model"], contents=[picture, body["prompt"]], config=config)
        return {"files": [base64.b64encode(part.inline_data.data).decode() for part in edited.candidates[0].content.parts]}
    if name == "structured":
        return {"object": client.models.generate_content(**asked).parsed}
    if name == "abort":
        return abort(asked)
    if name == "cut":
        return fault_of(lambda: whole(client.models.generate_content_stream(**asked)))
    if name == "refusals":
        missing = {**asked, "model": conversation["missingModel"]}
        return {
            "refusals": [
                fault_of(lambda: poor.models.generate_content(**asked)),
                fault_of(lambda: client.models.generate_content(**missing)),
                fault_of(lambda: stranger.models.generate_content(**asked)),
            ]
        }
    is_streamed, following = conversation.get("isStreamed"), conversation.get("next", [])
    return converse(asked, is_streamed, conversation.get("geminiResults"), following)


for conversation in conversations:
    try:
        tell(conversation, hold(conversation))
    except Exception:
        tell(conversation, broken())
