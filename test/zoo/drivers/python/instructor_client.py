import instructor
from pydantic import BaseModel


class Place(BaseModel):
    city: str
    people: int




class Instructor:
    """The library makes objects only."""

    def __init__(self, order, endpoint):
        self.order = order
        if endpoint == "messages":
            from anthropic import Anthropic

            sdk = Anthropic(base_url=order["baseUrl"], api_key=order["key"])
            self.client = instructor.from_anthropic(sdk)
        else:
            from openai import OpenAI

            sdk = OpenAI(base_url=f"{order['baseUrl']}/v1", api_key=order["key"])
            self.client = instructor.from_openai(sdk)

    def create(self, kind):
        return self.client.chat.completions.create(
            model=self.order["model"],
            max_tokens=1000,
            max_retries=1,
            response_model=kind,
            messages=[{"role": "user", "content": self.order["prompt"]}],
        )

    def structured(self):
        return {"value": self.create(Place).model_dump()}


def connect(order, endpoint):
    return Instructor(order, endpoint)
