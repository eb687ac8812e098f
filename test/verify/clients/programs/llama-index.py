# LlamaIndex with its chat model and embeddings of OpenAI's API. It looks up the window of a model by the name of one of OpenAI's,
# so models of other names take the class for addresses that are like OpenAI's.

import json
import os

from llama_index.core.base.llms.types import ChatMessage, DocumentBlock, ImageBlock, TextBlock
from llama_index.core.tools import FunctionTool
from llama_index.embeddings.openai import OpenAIEmbedding
from llama_index.llms.openai_like import OpenAILike
from pydantic import BaseModel, ConfigDict
from words import broken, conversations, described, tell


class Stay(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    days: int


def llm_of(chat, key=os.environ["KEY"], **more):
    return OpenAILike(
        model=chat["model"],
        api_base=f"{os.environ['BASE_URL']}/v1",
        api_key=key,
        is_chat_model=True,
        is_function_calling_model=True,
        max_tokens=chat["max_completion_tokens"],
        max_retries=2,
        additional_kwargs={"stop": chat["stop"]} if "stop" in chat else {},
        **more,
    )


def messages_of(chat):
    return [ChatMessage(role=message["role"], blocks=blocks_of(message["content"])) for message in chat["messages"]]


def blocks_of(content):
    if isinstance(content, str):
        return [TextBlock(text=content)]
    return [block_of(part) for part in content]


def block_of(part):
    if part["type"] == "text":
        return TextBlock(text=part["text"])
    if part["type"] == "image_url":
        return ImageBlock(url=part["image_url"]["url"])
    data = part["file"]["file_data"].split(",")[1]
    return DocumentBlock(data=data.encode(), title=part["file"]["filename"], document_mimetype="application/pdf")


def weather(city: str, days: int = 1) -> str:
    """The weather of a city"""


def map_of(of: str = "") -> str:
    """A map"""


TOOLS = [FunctionTool.from_defaults(weather, description="The weather of a city"), FunctionTool.from_defaults(map_of, name="map")]


def ask(llm, messages, streamed, tools):
    if tools and streamed:
        return list(llm.stream_chat_with_tools(TOOLS, chat_history=messages))[-1]
    if tools:
        return llm.chat_with_tools(TOOLS, chat_history=messages, allow_parallel_tool_calls=True)
    return list(llm.stream_chat(messages))[-1] if streamed else llm.chat(messages)


def converse(chat, streamed, results):
    llm, messages, usage = llm_of(chat), messages_of(chat), {}
    if streamed:
        llm.additional_kwargs["stream_options"] = {"include_usage": True}
    while True:
        answer = ask(llm, messages, streamed, "tools" in chat)
        calls = llm.get_tool_calls_from_response(answer, error_on_no_tool_call=False) if "tools" in chat else []
        if not calls:
            return got_of(answer)
        messages.append(answer.message)
        for call in calls:
            messages.append(
                ChatMessage(role="tool", content=results[call.tool_name], additional_kwargs={"tool_call_id": call.tool_id})
            )


def got_of(answer):
    got = {"text": answer.message.content}
    usage = getattr(answer.raw, "usage", None)
    if usage is None:
        return got
    cached = usage.prompt_tokens_details.cached_tokens or 0
    got["usage"] = {"input": usage.prompt_tokens - cached, "cacheRead": cached, "output": usage.completion_tokens}
    return {**got, **({"stopReason": answer.raw.choices[0].finish_reason} if answer.raw.choices else {})}


def fault_of(call):
    try:
        call()
    except Exception as fault:
        return described(fault)
    return {}


def abort(chat):
    text = ""
    for piece in llm_of(chat).stream_chat(messages_of(chat)):
        text += piece.delta or ""
        if len(text) > 20:
            break
    return {"text": text}


def hold(conversation):
    chat, name = conversation["chat"], conversation["name"]
    if name == "embeddings":
        connection = {"api_base": f"{os.environ['BASE_URL']}/v1", "api_key": os.environ["KEY"]}
        embedder = OpenAIEmbedding(model_name=chat["model"], **connection)
        return {"vectors": embedder.get_text_embedding_batch(conversation["body"]["input"])}
    if name == "structured":
        llm = llm_of(chat, should_use_structured_outputs=True)
        return {"object": json.loads(llm.as_structured_llm(Stay).chat(messages_of(chat)).message.content)}
    if name == "abort":
        return abort(chat)
    if name == "cut":
        return fault_of(lambda: list(llm_of(chat).stream_chat(messages_of(chat))))
    if name == "refusals":
        missing = {**chat, "model": conversation["missingModel"]}
        return {
            "refusals": [
                fault_of(lambda: llm_of(chat, os.environ["POOR_KEY"]).chat(messages_of(chat))),
                fault_of(lambda: llm_of(missing).chat(messages_of(missing))),
                fault_of(lambda: llm_of(chat, "sk-tp-nobodyhasthiskey").chat(messages_of(chat))),
            ]
        }
    return converse(chat, conversation.get("isStreamed"), conversation.get("chatResults"))


for conversation in conversations:
    try:
        tell(conversation, hold(conversation))
    except Exception:
        tell(conversation, broken())
