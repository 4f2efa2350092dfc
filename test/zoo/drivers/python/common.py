"""What the scenes need in every library."""

import json

IMAGE = (
    "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO"
    "9TXL0Y4OHwAAAABJRU5ErkJggg=="
)
IMAGE_URL = f"data:image/png;base64,{IMAGE}"

WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city",
    "parameters": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}

PLACE = {
    "type": "object",
    "title": "place",
    "properties": {"city": {"type": "string"}, "people": {"type": "integer"}},
    "required": ["city", "people"],
    "additionalProperties": False,
}


class Weather:
    """Runs calls of the weather tool and notes them."""

    def __init__(self):
        self.called = []

    def run(self, arguments):
        city = (json.loads(arguments) if isinstance(arguments, str) else arguments)["city"]
        return self.get_weather(city)

    def get_weather(self, city: str) -> str:
        """The weather of a city.

        Args:
            city: The name of the city.
        """
        self.called.append(f"get_weather({city})")
        return f"7 degrees in {city}"


class Reader:
    """Adds up a stream; `take` says whether the order is to leave it now."""

    def __init__(self, order):
        self.cancel = order["cancel"]
        self.text = ""
        self.pieces = 0

    def take(self, piece):
        if piece:
            self.text += piece
            self.pieces += 1
        return self.cancel and self.pieces > 0

    def report(self, usage=None):
        report = {"text": self.text, "pieces": self.pieces}
        return report if usage is None else {**report, "usage": usage}


def usage(given, taken):
    """The token counts, or nothing where the library has none."""
    return {"input": given, "output": taken} if given else None
