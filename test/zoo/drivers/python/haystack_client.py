import json

from common import IMAGE, PLACE, Reader, Weather, usage
from haystack.components.generators.chat import OpenAIChatGenerator
from haystack.dataclasses import ChatMessage, ImageContent
from haystack.tools import create_tool_from_function
from haystack.utils import Secret


class Haystack:
    def __init__(self, order):
        self.order = order

    def generator(self, **options):
        order = self.order
        return OpenAIChatGenerator(
            model=order["model"],
            api_key=Secret.from_token(order["key"]),
            api_base_url=f"{order['baseUrl']}/v1",
            **options,
        )

    def ask(self):
        message = self.generator().run([ChatMessage.from_user(self.order["prompt"])])["replies"][0]
        counts = message.meta["usage"]
        return {"text": message.text, "usage": usage(counts["prompt_tokens"], counts["completion_tokens"])}

    def stream(self):
        # It calls back for each piece and cannot be left.
        if self.order["cancel"]:
            return {"missing": True}
        reader = Reader(self.order)
        options = {"stream_options": {"include_usage": True}}
        generator = self.generator(
            streaming_callback=lambda chunk: reader.take(chunk.content), generation_kwargs=options
        )
        message = generator.run([ChatMessage.from_user(self.order["prompt"])])["replies"][0]
        counts = message.meta.get("usage") or {}
        return reader.report(usage(counts.get("prompt_tokens"), counts.get("completion_tokens")))

    def tools(self):
        weather = Weather()
        tool = create_tool_from_function(weather.get_weather, name="get_weather")
        generator = self.generator(tools=[tool])
        asked = [ChatMessage.from_user(self.order["prompt"])]
        first = generator.run(asked)["replies"][0]
        results = [
            ChatMessage.from_tool(tool_result=weather.run(call.arguments), origin=call)
            for call in first.tool_calls
        ]
        last = generator.run([*asked, first, *results])["replies"][0]
        return {"text": last.text, "called": weather.called}

    def structured(self):
        schema = {"name": "place", "schema": PLACE, "strict": True}
        options = {"response_format": {"type": "json_schema", "json_schema": schema}}
        generator = self.generator(generation_kwargs=options)
        message = generator.run([ChatMessage.from_user(self.order["prompt"])])["replies"][0]
        return {"value": json.loads(message.text)}

    def image(self):
        picture = ImageContent(base64_image=IMAGE, mime_type="image/png")
        asked = ChatMessage.from_user(content_parts=[self.order["prompt"], picture])
        return {"text": self.generator().run([asked])["replies"][0].text}


def connect(order, _endpoint):
    return Haystack(order)
