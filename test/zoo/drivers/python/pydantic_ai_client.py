import asyncio
import base64

from common import IMAGE, Reader, Weather, usage
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent


class Place(BaseModel):
    city: str
    people: int


def model_of(order, endpoint):
    if endpoint == "messages":
        from anthropic import AsyncAnthropic
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        sdk = AsyncAnthropic(base_url=order["baseUrl"], api_key=order["key"])
        return AnthropicModel(order["model"], provider=AnthropicProvider(anthropic_client=sdk))
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.openai import OpenAIProvider

    provider = OpenAIProvider(base_url=f"{order['baseUrl']}/v1", api_key=order["key"])
    kind = OpenAIChatModel if endpoint == "chat" else OpenAIResponsesModel
    return kind(order["model"], provider=provider)


def usage_of(result):
    found = result.usage() if callable(result.usage) else result.usage
    return usage(found.input_tokens, found.output_tokens)


class PydanticAi:
    def __init__(self, order, endpoint):
        self.order = order
        self.endpoint = endpoint

    def agent(self, **parts):
        return Agent(model_of(self.order, self.endpoint), **parts)

    def run(self, prompt=None, **parts):
        async def once():
            return await self.agent(**parts).run(prompt or self.order["prompt"])

        return asyncio.run(once())

    def ask(self):
        result = self.run()
        return {"text": result.output, "usage": usage_of(result)}

    def stream(self):
        async def once():
            reader = Reader(self.order)
            async with self.agent().run_stream(self.order["prompt"]) as result:
                async for piece in result.stream_text(delta=True, debounce_by=None):
                    if reader.take(piece):
                        return reader.report()
                return reader.report(usage_of(result))

        return asyncio.run(once())

    def tools(self):
        weather = Weather()
        result = self.run(tools=[weather.get_weather])
        return {"text": result.output, "called": weather.called}

    def structured(self):
        return {"value": self.run(output_type=Place).output.model_dump()}

    def image(self):
        picture = BinaryContent(data=base64.b64decode(IMAGE), media_type="image/png")
        return {"text": self.run([self.order["prompt"], picture]).output}


def connect(order, endpoint):
    return PydanticAi(order, endpoint)
