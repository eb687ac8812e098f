# The official SDK for Python, synchronous.

import os
import time

import anthropic
from pydantic import BaseModel, ConfigDict
from words import answer_to, broken, conversations, described, got_of, tell

client = anthropic.Anthropic(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"])
poor = anthropic.Anthropic(base_url=os.environ["BASE_URL"], api_key=os.environ["POOR_KEY"])
stranger = anthropic.Anthropic(base_url=os.environ["BASE_URL"], api_key="sk-tp-nobodyhasthiskey")


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


def converse(body, streamed, results, following):
    messages = list(body["messages"])
    while True:
        asked = {**body, "messages": messages}
        if streamed:
            with client.messages.stream(**asked) as stream:
                message = stream.get_final_message()
        else:
            message = client.messages.create(**asked)
        answer = answer_to(message, results, following)
        if answer is None:
            return got_of(message)
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": answer}]


def abort(body):
    text = ""
    with client.messages.stream(**body) as stream:
        for piece in stream.text_stream:
            text += piece
            if len(text) > 20:
                break
    return {"text": text}


def read_to_end(body):
    with client.messages.stream(**body) as stream:
        stream.get_final_message()


def keep_file(body):
    text = body["messages"][0]["content"]
    files = client.beta.files
    file = files.upload(file=("notes.txt", text.encode(), "text/plain"))
    document = {"type": "document", "source": {"type": "file", "file_id": file.id}}
    message = client.messages.create(**{**body, "messages": [{"role": "user", "content": [document]}]})
    content, is_listed = files.download(file.id).read().decode(), file.id in [one.id for one in files.list()]
    files.delete(file.id)
    status = fault_of(lambda: files.retrieve_metadata(file.id))["status"]
    shown = {"content": content, "bytes": file.size_bytes, "isListed": is_listed, "statusOfDeleted": status}
    return {**got_of(message), "file": shown}


def send_batch(body):
    batches = client.messages.batches
    batch = batches.create(requests=[{"custom_id": "one", "params": body}])
    while batches.retrieve(batch.id).processing_status != "ended":
        time.sleep(0.05)
    [line] = batches.results(batch.id)
    return got_of(line.result.message)


def hold(conversation):
    body, name = conversation["body"], conversation["name"]
    if name == "count":
        return {"inputTokens": client.messages.count_tokens(**body).input_tokens}
    if name == "models":
        return {"models": [model.id for model in client.models.list(limit=5)]}
    if name == "batch":
        return send_batch(body)
    if name == "files":
        return keep_file(body)
    if name == "structured":
        asked = {key: value for key, value in body.items() if key != "output_config"}
        return {"object": client.messages.parse(**asked, output_format=Stay).parsed_output.model_dump()}
    if name == "abort":
        return abort(body)
    if name == "cut":
        return fault_of(lambda: read_to_end(body))
    if name == "refusals":
        missing = {**body, "model": conversation["missingModel"]}
        return {
            "refusals": [
                fault_of(lambda: poor.messages.create(**body)),
                fault_of(lambda: client.messages.create(**missing)),
                fault_of(lambda: stranger.messages.create(**body)),
            ]
        }
    return converse(body, conversation.get("isStreamed"), conversation.get("results"), conversation.get("next", []))


for conversation in conversations:
    try:
        tell(conversation, hold(conversation))
    except Exception:
        tell(conversation, broken())
