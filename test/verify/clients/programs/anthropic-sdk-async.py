# The official SDK for Python, asynchronous: all conversations at once.

import asyncio
import os

import anthropic
from pydantic import BaseModel, ConfigDict
from words import answer_to, broken, conversations, described, got_of, tell

client = anthropic.AsyncAnthropic(base_url=os.environ["BASE_URL"], api_key=os.environ["KEY"])
poor = anthropic.AsyncAnthropic(base_url=os.environ["BASE_URL"], api_key=os.environ["POOR_KEY"])
stranger = anthropic.AsyncAnthropic(base_url=os.environ["BASE_URL"], api_key="sk-tp-nobodyhasthiskey")


class Stay(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    days: int


async def fault_of(call):
    try:
        await call
    except Exception as fault:
        return described(fault)
    return {}


async def converse(body, streamed, results, following):
    messages = list(body["messages"])
    while True:
        asked = {**body, "messages": messages}
        if streamed:
            async with client.messages.stream(**asked) as stream:
                message = await stream.get_final_message()
        else:
            message = await client.messages.create(**asked)
        answer = answer_to(message, results, following)
        if answer is None:
            return got_of(message)
        messages += [{"role": "assistant", "content": message.content}, {"role": "user", "content": answer}]


# The task is cancelled while it reads, as by a server whose own caller has left.
async def abort(body):
    text = ""
    enough = asyncio.Event()

    async def read():
        nonlocal text
        async with client.messages.stream(**body) as stream:
            async for piece in stream.text_stream:
                text += piece
                if len(text) > 20:
                    enough.set()

    reading = asyncio.create_task(read())
    await enough.wait()
    reading.cancel()
    await asyncio.gather(reading, return_exceptions=True)
    return {"text": text}


async def read_to_end(body):
    async with client.messages.stream(**body) as stream:
        await stream.get_final_message()


async def hold(conversation):
    body, name = conversation["body"], conversation["name"]
    if name == "count":
        return {"inputTokens": (await client.messages.count_tokens(**body)).input_tokens}
    if name == "models":
        return {"models": [model.id async for model in client.models.list(limit=5)]}
    if name == "structured":
        asked = {key: value for key, value in body.items() if key != "output_config"}
        parsed = await client.messages.parse(**asked, output_format=Stay)
        return {"object": parsed.parsed_output.model_dump()}
    if name == "abort":
        return await abort(body)
    if name == "cut":
        return await fault_of(read_to_end(body))
    if name == "refusals":
        missing = {**body, "model": conversation["missingModel"]}
        asked = (poor.messages.create(**body), client.messages.create(**missing), stranger.messages.create(**body))
        return {"refusals": [await fault_of(call) for call in asked]}
    return await converse(body, conversation.get("isStreamed"), conversation.get("results"), conversation.get("next", []))


async def hold_and_tell(conversation):
    try:
        tell(conversation, await asyncio.wait_for(hold(conversation), 20))
    except Exception:
        tell(conversation, broken())


async def main():
    await asyncio.gather(*map(hold_and_tell, conversations))


asyncio.run(main())
