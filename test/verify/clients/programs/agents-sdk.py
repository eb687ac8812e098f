# OpenAI's Agents SDK for Python. It runs the tools by itself.

import asyncio
import logging
import os

from agents import (
    Agent,
    FunctionTool,
    ModelSettings,
    OpenAIProvider,
    RunConfig,
    Runner,
    set_default_openai_client,
    set_tracing_disabled,
)
from openai import AsyncOpenAI
from openai.types.shared import Reasoning
from pydantic import BaseModel, ConfigDict
from words import broken, conversations, described, tell

set_default_openai_client(AsyncOpenAI(base_url=f"{os.environ['BASE_URL']}/v1", api_key=os.environ["KEY"]))
set_tracing_disabled(True)
logging.getLogger("openai.agents").disabled = True  # it logs the errors that it throws


class Stay(BaseModel):
    model_config = ConfigDict(extra="forbid")
    city: str
    days: int


def tool_of(tool, results):
    async def invoke(_context, _arguments):
        content = results[tool["name"]]["content"]
        return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)

    return FunctionTool(
        name=tool["name"],
        description=tool["description"],
        params_json_schema=tool["parameters"],
        on_invoke_tool=invoke,
        strict_json_schema=False,
    )


def agent_of(body, results):
    thinking = {}
    if "reasoning" in body:
        thinking = {"store": False, "reasoning": Reasoning(**body["reasoning"]), "response_include": body["include"]}
    return Agent(
        name="Assistant",
        model=body["model"],
        instructions=body.get("instructions"),
        tools=[tool_of(tool, results) for tool in body.get("tools", [])],
        output_type=Stay if "text" in body else None,
        model_settings=ModelSettings(max_tokens=body.get("max_output_tokens"), **thinking),
    )


async def streamed(agent, given):
    result = Runner.run_streamed(agent, given)
    async for _event in result.stream_events():
        pass
    return result


async def converse(agent, given, is_streamed, following):
    while True:
        result = await (streamed(agent, given) if is_streamed else Runner.run(agent, given))
        if not following:
            return got_of(result)
        given = [*result.to_input_list(), {"role": "user", "content": following.pop(0)}]


def got_of(result):
    usage = result.raw_responses[-1].usage
    cached = usage.input_tokens_details.cached_tokens
    return {
        "text": result.final_output,
        "usage": {"input": usage.input_tokens - cached, "cacheRead": cached, "output": usage.output_tokens},
    }


async def abort(agent, given):
    text = ""
    result = Runner.run_streamed(agent, given)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            text += event.data.delta
        if len(text) > 20:
            result.cancel()
    return {"text": text}


async def fault_of(running):
    try:
        await running
    except Exception as fault:
        return described(fault)
    return {}


async def refusal_of(key, agent, given):
    provider = OpenAIProvider(base_url=f"{os.environ['BASE_URL']}/v1", api_key=key)
    return await fault_of(Runner.run(agent, given, run_config=RunConfig(model_provider=provider)))


async def hold(conversation):
    body, name = conversation["responses"], conversation["name"]
    agent, given = agent_of(body, conversation.get("results")), body["input"]
    if name == "structured":
        return {"object": (await Runner.run(agent, given)).final_output.model_dump()}
    if name == "abort":
        return await abort(agent, given)
    if name == "cut":
        return await fault_of(streamed(agent, given))
    if name == "refusals":
        return {
            "refusals": [
                await refusal_of(os.environ["POOR_KEY"], agent, given),
                await refusal_of(os.environ["KEY"], agent.clone(model=conversation["missingModel"]), given),
                await refusal_of("sk-tp-nobodyhasthiskey", agent, given),
            ]
        }
    return await converse(agent, given, conversation.get("isStreamed"), conversation.get("next", []))


async def main():
    for conversation in conversations:
        try:
            tell(conversation, await hold(conversation))
        except Exception:
            tell(conversation, broken())


asyncio.run(main())
