import base64
import os

from agno.agent import Agent
from agno.media import Image
from common import IMAGE, Reader, Weather, usage
from pydantic import BaseModel

os.environ["AGNO_TELEMETRY"] = "false"


class Place(BaseModel):
    city: str
    people: int


def model_of(order, endpoint):
    if endpoint == "messages":
        from agno.models.anthropic import Claude

        return Claude(
            id=order["model"], api_key=order["key"], client_params={"base_url": order["baseUrl"]}
        )
    from agno.models.openai.like import OpenAILike

    return OpenAILike(id=order["model"], api_key=order["key"], base_url=f"{order['baseUrl']}/v1")


def usage_of(result):
    counts = result.metrics
    return usage(counts.input_tokens, counts.output_tokens) if counts else None


class Agno:
    def __init__(self, order, endpoint):
        self.order = order
        self.endpoint = endpoint

    def agent(self, **parts):
        return Agent(model=model_of(self.order, self.endpoint), telemetry=False, **parts)

    def run(self, agent, **options):
        result = agent.run(self.order["prompt"], **options)
        # A failed run is a result whose content is the error.
        if str(getattr(result.status, "value", result.status)).upper() == "ERROR":
            raise RuntimeError(result.content)
        return result

    def ask(self):
        result = self.run(self.agent())
        return {"text": result.content, "usage": usage_of(result)}

    def stream(self):
        # On the chat endpoint closing its generator does not end the request.
        if self.order["cancel"] and self.endpoint == "chat":
            return {"missing": True}
        reader, counts = Reader(self.order), None
        events = self.agent().run(self.order["prompt"], stream=True, stream_events=True)
        for event in events:
            if event.event == "RunError":
                raise RuntimeError(event.content)
            if event.event == "RunContent" and reader.take(event.content):
                events.close()
                return reader.report()
            if event.event == "RunCompleted":
                counts = usage_of(event)
        return reader.report(counts)

    def tools(self):
        weather = Weather()
        result = self.run(self.agent(tools=[weather.get_weather]))
        return {"text": result.content, "called": weather.called}

    def structured(self):
        result = self.run(self.agent(output_schema=Place))
        return {"value": result.content.model_dump()}

    def image(self):
        picture = Image(content=base64.b64decode(IMAGE), mime_type="image/png", format="png")
        return {"text": self.run(self.agent(), images=[picture]).content}


def connect(order, endpoint):
    return Agno(order, endpoint)
