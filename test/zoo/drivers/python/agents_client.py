import asyncio

from agents import (
    Agent,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from common import IMAGE_URL, Reader, Weather, usage
from openai import AsyncOpenAI
from pydantic import BaseModel

set_tracing_disabled(True)
MODELS = {"chat": OpenAIChatCompletionsModel, "responses": OpenAIResponsesModel}


class Place(BaseModel):
    city: str
    people: int


def usage_of(result):
    counts = result.context_wrapper.usage
    return usage(counts.input_tokens, counts.output_tokens)


class Agents:
    def __init__(self, order, endpoint):
        self.order = order
        self.endpoint = endpoint

    def agent(self, **parts):
        order = self.order
        sdk = AsyncOpenAI(base_url=f"{order['baseUrl']}/v1", api_key=order["key"])
        model = MODELS[self.endpoint](model=order["model"], openai_client=sdk)
        settings = ModelSettings(include_usage=True)
        return Agent(name="zoo", model=model, model_settings=settings, **parts)

    def run(self, prompt=None, **parts):
        async def once():
            return await Runner.run(self.agent(**parts), prompt or self.order["prompt"])

        return asyncio.run(once())

    def ask(self):
        result = self.run()
        return {"text": result.final_output, "usage": usage_of(result)}

    def stream(self):
        async def once():
            reader = Reader(self.order)
            result = Runner.run_streamed(self.agent(), self.order["prompt"])
            async for event in result.stream_events():
                if event.type != "raw_response_event":
                    continue
                if event.data.type == "response.output_text.delta" and reader.take(event.data.delta):
                    result.cancel()
            return reader.report(None if self.order["cancel"] else usage_of(result))

        return asyncio.run(once())

    def tools(self):
        weather = Weather()
        result = self.run(tools=[function_tool(weather.get_weather)])
        return {"text": result.final_output, "called": weather.called}

    def structured(self):
        return {"value": self.run(output_type=Place).final_output.model_dump()}

    def image(self):
        parts = [
            {"type": "input_text", "text": self.order["prompt"]},
            {"type": "input_image", "image_url": IMAGE_URL, "detail": "auto"},
        ]
        return {"text": self.run([{"role": "user", "content": parts}]).final_output}


def connect(order, endpoint):
    return Agents(order, endpoint)
