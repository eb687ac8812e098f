# Haystack with its generator and embedder of OpenAI's API.

import json
import os

from haystack.components.embedders import OpenAIDocumentEmbedder
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, Document, FileContent, ImageContent, TextContent
from haystack.tools import Tool
from haystack.utils import Secret
from pydantic import BaseModel, ConfigDict
from words import broken, conversations, described, tell


class Stay(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    days: int


def generator_of(chat, key=os.environ["KEY"], **more):
    settings = {name: chat[name] for name in ("max_completion_tokens", "stop") if name in chat}
    return OpenAIChatGenerator(
        api_key=Secret.from_token(key),
        api_base_url=f"{os.environ['BASE_URL']}/v1",
        model=chat["model"],
        generation_kwargs={**settings, **more},
        tools=[tool_of(tool["function"]) for tool in chat.get("tools", [])],
        max_retries=2,
    )


def tool_of(named):
    return Tool(**named, function=lambda: None)


def messages_of(chat):
    return [message_of(message) for message in chat["messages"]]


def message_of(message):
    content = message["content"]
    if message["role"] == "system":
        return ChatMessage.from_system(content)
    return ChatMessage.from_user(content_parts=[content] if isinstance(content, str) else [part_of(part) for part in content])


def part_of(part):
    if part["type"] == "text":
        return TextContent(part["text"])
    if part["type"] == "image_url":
        return ImageContent.from_url(part["image_url"]["url"])
    data = part["file"]["file_data"].split(",")[1]
    return FileContent(base64_data=data, mime_type="application/pdf", filename=part["file"]["filename"])


def converse(chat, streamed, results):
    generator, messages = generator_of(chat), messages_of(chat)
    streaming = {"streaming_callback": lambda chunk: None} if streamed else {}
    if streamed:
        generator.generation_kwargs["stream_options"] = {"include_usage": True}
    while True:
        reply = generator.run(messages, **streaming)["replies"][0]
        if not reply.tool_calls:
            return got_of(reply)
        messages.append(reply)
        for call in reply.tool_calls:
            messages.append(ChatMessage.from_tool(results[call.tool_name], origin=call))


def got_of(reply):
    usage = reply.meta["usage"]
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    return {
        "text": reply.text,
        "stopReason": reply.meta["finish_reason"],
        "usage": {"input": usage["prompt_tokens"] - cached, "cacheRead": cached, "output": usage["completion_tokens"]},
    }


def fault_of(call):
    try:
        call()
    except Exception as fault:
        return described(fault)
    return {}


def abort(chat):
    text = ""

    def gather(chunk):
        nonlocal text
        text += chunk.content
        if len(text) > 20:
            raise StopIteration

    try:
        generator_of(chat).run(messages_of(chat), streaming_callback=gather)
    except StopIteration:
        pass
    return {"text": text}


def hold(conversation):
    chat, name = conversation["chat"], conversation["name"]
    if name == "embeddings":
        connection = {"api_base_url": f"{os.environ['BASE_URL']}/v1", "api_key": Secret.from_token(os.environ["KEY"])}
        embedder = OpenAIDocumentEmbedder(model=chat["model"], progress_bar=False, **connection)
        documents = [Document(content=text) for text in conversation["body"]["input"]]
        return {"vectors": [document.embedding for document in embedder.run(documents)["documents"]]}
    if name == "structured":
        reply = generator_of(chat, response_format=Stay).run(messages_of(chat))["replies"][0]
        return {"object": json.loads(reply.text)}
    if name == "abort":
        return abort(chat)
    if name == "cut":
        return fault_of(lambda: generator_of(chat).run(messages_of(chat), streaming_callback=lambda chunk: None))
    if name == "refusals":
        missing = {**chat, "model": conversation["missingModel"]}
        return {
            "refusals": [
                fault_of(lambda: generator_of(chat, os.environ["POOR_KEY"]).run(messages_of(chat))),
                fault_of(lambda: generator_of(missing).run(messages_of(missing))),
                fault_of(lambda: generator_of(chat, "sk-tp-nobodyhasthiskey").run(messages_of(chat))),
            ]
        }
    return converse(chat, conversation.get("isStreamed"), conversation.get("chatResults"))


for conversation in conversations:
    try:
        tell(conversation, hold(conversation))
    except Exception:
        tell(conversation, broken())
