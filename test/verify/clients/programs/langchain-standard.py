# LangChain's own tests of chat models, for its integrations of OpenAI, Anthropic and Google.

import base64
import os

import httpx
import pytest
import requests
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

PNG = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==")
PDF = b"%PDF-1.4\n1 0 obj<</Type/Catalog>>endobj\ntrailer<</Root 1 0 R>>\n%%EOF\n"
MODEL, KEY, BASE_URL = os.environ["MODEL"], os.environ["KEY"], os.environ["BASE_URL"]


@pytest.fixture(autouse=True)
def files_of_the_web(monkeypatch):
    """The tests download the files that they send, and Google's integration those that are linked."""
    linked = requests.Response()
    linked.status_code, linked._content = 200, PNG
    monkeypatch.setattr(httpx, "get", lambda url, **_: httpx.Response(200, content=PDF if url.endswith(".pdf") else PNG))
    monkeypatch.setattr(requests, "get", lambda *_, **__: linked)


class Standard(ChatModelIntegrationTests):
    supports_image_inputs = True
    supports_image_urls = True
    supports_image_tool_message = True
    supports_pdf_inputs = True
    supports_json_mode = True
    model_override_value = f"{MODEL}-too"


class TestOpenAI(Standard):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatOpenAI

    @property
    def chat_model_params(self) -> dict:
        return {"model": MODEL, "base_url": f"{BASE_URL}/v1", "api_key": KEY, "stream_usage": True}


class TestOpenAIResponses(Standard):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatOpenAI

    @property
    def chat_model_params(self) -> dict:
        return {"model": MODEL, "base_url": f"{BASE_URL}/v1", "api_key": KEY, "use_responses_api": True}


class TestAnthropic(Standard):
    supports_anthropic_inputs = True

    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatAnthropic

    @property
    def chat_model_params(self) -> dict:
        return {"model": MODEL, "base_url": BASE_URL, "api_key": KEY}


class TestGoogle(Standard):
    @property
    def chat_model_class(self) -> type[BaseChatModel]:
        return ChatGoogleGenerativeAI

    @property
    def chat_model_params(self) -> dict:
        return {"model": MODEL, "base_url": BASE_URL, "google_api_key": KEY}
