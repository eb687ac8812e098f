# OpenAI's SDK for Python.

import base64
import json
import os
import time

import openai
from openai.types.chat import ChatCompletion
from pydantic import BaseModel, ConfigDict
from words import broken, conversations, described, tell

client = openai.OpenAI(base_url=f"{os.environ['BASE_URL']}/v1", api_key=os.environ["KEY"])
poor = openai.OpenAI(base_url=f"{os.environ['BASE_URL']}/v1", api_key=os.environ["POOR_KEY"])
stranger = openai.OpenAI(base_url=f"{os.environ['BASE_URL']}/v1", api_key="sk-tp-nobodyhasthiskey")


class Stay(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    days: int


def fault_of(call):
    try:
        call()
    except Exception as fault:
        return described(fault)
    return {}


def got_of(completion):
    usage, choice = completion.usage, completion.choices[0]
    details = usage.prompt_tokens_details
    cached, written = details.cached_tokens or 0, getattr(details, "cache_write_tokens", 0) or 0
    return {
        "text": choice.message.content,
        "stopReason": choice.finish_reason,
        "usage": {
            "input": usage.prompt_tokens - cached - written,
            "cacheRead": cached,
            "cacheWrite": written,
            "output": usage.completion_tokens,
        },
    }


def ask(body, streamed):
    if not streamed:
        return client.chat.completions.create(**body)
    with client.chat.completions.stream(**body, stream_options={"include_usage": True}) as stream:
        return stream.get_final_completion()


def converse(body, streamed, results, following):
    thinking = {"extra_body": {"thinking": body.pop("thinking")}} if "thinking" in body else {}
    messages = list(body["messages"])
    while True:
        completion = ask({**body, **thinking, "messages": messages}, streamed)
        message = completion.choices[0].message
        calls = message.tool_calls or []
        messages.append(message.model_dump(exclude_none=True, exclude={"parsed"}))
        for call in calls:
            messages.append({"role": "tool", "tool_call_id": call.id, "content": results[call.function.name]})
        if calls:
            continue
        if not following:
            return got_of(completion)
        messages.append({"role": "user", "content": following.pop(0)})


def abort(body):
    text = ""
    with client.chat.completions.create(**body, stream=True) as stream:
        for chunk in stream:
            if chunk.choices:
                text += chunk.choices[0].delta.content or ""
            if len(text) > 20:
                break
    return {"text": text}


def keep_file(body):
    text = body["messages"][-1]["content"]
    file = client.files.create(file=("notes.txt", text.encode(), "text/plain"), purpose="user_data")
    part = {"type": "file", "file": {"file_id": file.id}}
    asked = {**body, "messages": [*body["messages"][:-1], {"role": "user", "content": [part]}]}
    completion = client.chat.completions.create(**asked)
    content, is_listed = client.files.content(file.id).text, file.id in [one.id for one in client.files.list()]
    client.files.delete(file.id)
    status = fault_of(lambda: client.files.retrieve(file.id))["status"]
    shown = {"content": content, "bytes": file.bytes, "isListed": is_listed, "statusOfDeleted": status}
    return {**got_of(completion), "file": shown}


def send_batch(body):
    url = "/v1/chat/completions"
    line = json.dumps({"custom_id": "one", "method": "POST", "url": url, "body": body})
    file = client.files.create(file=("requests.jsonl", line.encode()), purpose="batch")
    batch = client.batches.create(input_file_id=file.id, endpoint=url, completion_window="24h")
    while batch.status != "completed":
        time.sleep(0.05)
        batch = client.batches.retrieve(batch.id)
    result = json.loads(client.files.content(batch.output_file_id).text)
    return got_of(ChatCompletion.model_validate(result["response"]["body"]))


def hold(conversation):
    body, name = conversation["chat"], conversation["name"]
    if name == "models":
        return {"models": [model.id for model in client.models.list()]}
    if name == "embeddings":
        asked = {"model": body["model"], "input": conversation["body"]["input"]}
        return {"vectors": [each.embedding for each in client.embeddings.create(**asked).data]}
    if name == "batch":
        return send_batch(body)
    if name == "files":
        return keep_file(body)
    if name == "drawing":
        drawn = client.images.generate(**{**conversation["body"], "model": body["model"]})
        return {"files": [each.b64_json for each in drawn.data]}
    if name == "editing":
        asked = {**conversation["body"], "model": body["model"]}
        image = ("bicycle.png", base64.b64decode(asked.pop("picture")), "image/png")
        return {"files": [each.b64_json for each in client.images.edit(**asked, image=[image]).data]}
    if name == "speaking":
        spoken = client.audio.speech.create(**{**conversation["body"], "model": body["model"]})
        return {"files": [base64.b64encode(spoken.read()).decode()]}
    if name == "hearing":
        asked = {**conversation["body"], "model": body["model"]}
        file = ("recorded.wav", base64.b64decode(asked.pop("sound")), "audio/wav")
        return {"text": client.audio.transcriptions.create(**asked, file=file).text}
    if name == "structured":
        asked = {**body, "response_format": Stay}
        return {"object": client.chat.completions.parse(**asked).choices[0].message.parsed.model_dump()}
    if name == "abort":
        return abort(body)
    if name == "cut":
        return fault_of(lambda: ask(body, True))
    if name == "refusals":
        missing = {**body, "model": conversation["missingModel"]}
        return {
            "refusals": [
                fault_of(lambda: poor.chat.completions.create(**body)),
                fault_of(lambda: client.chat.completions.create(**missing)),
                fault_of(lambda: stranger.chat.completions.create(**body)),
            ]
        }
    return converse(body, conversation.get("isStreamed"), conversation.get("chatResults"), conversation.get("next", []))


for conversation in conversations:
    try:
        tell(conversation, hold(conversation))
    except Exception:
        tell(conversation, broken())
