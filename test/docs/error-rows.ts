/** What an error text begins with or matches, why it is sent, and what ends it. */
export type ErrorRow = { match: RegExp; cause: string; remedy: string };

/** By who can act. The first row that matches a text has it. */
export const ERROR_ROWS: Record<string, ErrorRow[]> = {
  'The key and its limits': [
    {
      match: /^The (API key is missing|Authorization, x-api-key)/,
      cause: 'No key in the headers, or two different ones.',
      remedy: 'Send one key. A client that also takes one from its environment sends two.',
    },
    {
      match: /^The API key (is invalid|has expired|is paused|was revoked)/,
      cause: 'The key is mistyped, or its operator or its date has ended it.',
      remedy: 'Create or resume a key: `keys list` shows its state.',
    },
    {
      match: /API keys from this network|requests of this API key were rejected/,
      cause: 'A client repeats requests that can only fail.',
      remedy: 'Fix the key or the request; the limit ends with the second or minute.',
    },
    {
      match: /quota(?! left)|requests per minute|concurrent requests|admits no requests/,
      cause:
        'A limit of the plan or of the key is reached. The headers `x-ratelimit-…` and `x-quota-…` have its state.',
      remedy: 'Wait for `retry-after`, or raise the limit: `plans set`, `keys set`.',
    },
    {
      match:
        /leased to requests in flight|that the request may cost|is used up \(|has no price for/,
      cause:
        'A [budget](budgets.md) in dollars has less left than the request may cost, or no price to count it by.',
      remedy:
        'Set `max_tokens`, wait for the reset that it names, or raise the budget: `budgets set`.',
    },
    {
      match:
        /plan of this (API )?key (stores|keeps) no|keeps no responses|item references need a plan/,
      cause: 'The plan has no [stored](stored-responses.md) or [kept](replay.md) responses.',
      remedy:
        'Send whole conversations without `Idempotency-Key`, or set `state` or `replay` of the plan.',
    },
    {
      match: /plan stops loops/,
      cause: 'An agent repeats the same tool calls, and the plan has `loops` set to stop.',
      remedy: 'Look at the conversation; begin a new one.',
    },
    {
      match: /is not in the models of your key|plan requires|does not exist\.$/,
      cause: 'The key, its plan or its policy excludes the model, or no model has this name.',
      remedy: 'Use a model of `GET /v1/models`; the error has the nearest ones.',
    },
    {
      match: /may not name others|the addresses and keys of providers/,
      cause:
        'A gateway behind the router would follow this member of the body to other [models or providers](providers.md#policies).',
      remedy: 'Leave the member out, or name the model in `model`.',
    },
    {
      match: /was retired on/,
      cause: 'The model is past the day of its retirement in the catalog.',
      remedy: 'Use the successor.',
    },
  ],
  'The request': [
    {
      match: /^prompt is too long|too large for the limits|it is too large/,
      cause: 'The prompt exceeds the model or what its provider takes.',
      remedy: 'Shorten the conversation, or use a model with a larger context.',
    },
    {
      match: /^The model '.*does not (stream|call tools|accept images|support)/,
      cause: 'The catalog says that the model cannot do this.',
      remedy: 'Leave it out, or use another model.',
    },
    {
      match: /^x-router-strict/,
      cause:
        'The provider has no form for a part of the request, and the caller asked to be stopped then.',
      remedy: 'Leave the part out, or the header.',
    },
    {
      match: /provider rejected the request|not accepted by the model's provider/,
      cause: 'The provider answered 400; its reason is in the text.',
      remedy: 'Change what it names.',
    },
    {
      match:
        /^The request (body|is over|is not valid HTTP|has no host)|^The request's|^The headers are|^Only "Expect|^Timeout while/,
      cause: 'The HTTP request cannot be read: its size, encoding or form.',
      remedy: 'Send JSON in UTF-8, below 5.5 MB, plain or gzipped.',
    },
    {
      match: /^(tools|tool_choice|messages|functions|thread|The arguments of tool call)\b/,
      cause: 'The conversation contradicts itself, or has something that no provider can be sent.',
      remedy:
        'Send each tool result right after its call, each name once, and whole conversations.',
    },
    {
      match:
        /^(include|background|previous_response_id|input|limit|order|after|starting_after|Only a response|Previous response|The stored conversation|Response not found)/,
      cause:
        'A [stored response](stored-responses.md) is asked for that there is not, or in a way that it cannot be.',
      remedy:
        'Send what the text names; a response of another project or an expired one is not found.',
    },
    {
      match: /Idempotency-Key|Last-Event-ID/,
      cause: 'The header is malformed, or the key was used for another request.',
      remedy:
        'Use a new key for each request, and the same one only for its repeats ([replay.md](replay.md)).',
    },
    {
      match: /^The header \{name\}/,
      cause: 'The value is not a date.',
      remedy: 'Send a date, or leave it out.',
    },
    {
      match: /^(days|by|since|until|The range must|\{name\}: must be a day)/,
      cause: 'A range or grouping of usage that cannot be read.',
      remedy: 'Use days such as `2026-10-01`, and a grouping of the list.',
    },
    {
      match: /^\{param\}: (?!no target|unknown)/,
      cause: 'A field has the wrong type or value; `param` is its place.',
      remedy: 'Change the field.',
    },
    {
      match: /^The body \{/,
      cause: 'The body as a whole has the wrong type.',
      remedy: 'Send the object that openapi.json describes.',
    },
  ],
  'The address': [
    {
      match:
        /not offered|not stored; send|^No such path|^Method not allowed|^Unknown file|^No id has more/,
      cause:
        'There is no such route or method. Often the base address has `/v1` twice or not at all.',
      remedy: 'See [calling.md](calling.md#routes); `connect` prints the address for each client.',
    },
    {
      match: /^(Request|Session|No running generation).*(not found|has this id)/i,
      cause: 'The id is of another project, too old, or wrong.',
      remedy: 'Use the `x-request-id` of a response of the same project.',
    },
  ],
  'The provider and the router': [
    {
      match:
        /busy at its provider|temporarily unavailable|did not answer in time|invalid response|capacity of the model's provider/,
      cause:
        'All targets of the model failed, are limited or are too slow. `GET /v1/requests/{id}` has each attempt.',
      remedy: 'Retry, as SDKs do; on call: [on-call.md](on-call.md).',
    },
    {
      match:
        /(no credit or quota left|no such model or path|redirects to another address|does not offer it)/,
      cause:
        'The account of the operator at the provider, or a target of the catalog, cannot serve the model.',
      remedy: 'The operator pays, or corrects the target: `doctor` tries each.',
    },
    {
      match: /flagged the prompt/,
      cause: 'The provider answered 403: for its policy, or for what the credential may do.',
      remedy: 'Change the prompt; if each request is denied, the permissions of the credential.',
    },
    {
      match: /credentials/,
      cause: 'The secret of a provider cannot be read, or the provider refuses it.',
      remedy: 'Replace the credential: [the runbook](operations.md#upstream-credential-refused).',
    },
    {
      match: /client disconnected|was cancelled/,
      cause: 'The caller ended the request.',
      remedy: 'None.',
    },
    {
      match: /clock is behind/,
      cause: 'The machine has a wrong clock, or had one that was ahead when the key was used.',
      remedy: '[The runbook](operations.md#meter-unreachable).',
    },
    {
      match:
        /could not be (checked|metered)|are unavailable|is unavailable|Storage unavailable|kept response cannot|still running/,
      cause: 'A table of the router is slow or away, or the first of two equal requests runs.',
      remedy: 'Retry; if it lasts, [meter-unreachable](operations.md#meter-unreachable).',
    },
    {
      match: /^The router failed|^The response ended without|^The process that generated/,
      cause: 'A bug of the router, or its process ended.',
      remedy: 'Retry; the log has a line with the `x-request-id`.',
    },
  ],
  'The admin API': [
    {
      match: /^(No project is yours|Only operators)/,
      cause: 'Your role allows less.',
      remedy: 'Ask an operator to change it on the page Members.',
    },
    {
      match: /changed concurrently|within the last minute|already exists|was deleted/,
      cause: 'Another change came first, or the id is taken.',
      remedy: 'Read it again, then repeat the change.',
    },
    {
      match:
        /unknown (plan|project|model)|no target of the catalog|has no (model|target)|not found|There is no budget|No key matches|has no webhook|no webhooks|no members/,
      cause: 'A name is not known here, or that part of the stage is off.',
      remedy: 'List the names; see [the stage options](operations.md#stage-options).',
    },
    {
      match: /^The range has more than/,
      cause: 'More sums than one response can have.',
      remedy: 'Ask for fewer days, or for pages.',
    },
    {
      match: /^(The user (pool|of)|Ask another operator)/,
      cause: 'The user pool refused a change of a member, or it would end your own role.',
      remedy: 'List the members, then repeat it.',
    },
    {
      match:
        /^(url|plan|models|role|expires_at|Key|Plan|Project|There are|A new budget|The format|\{scope\}|\{name\})/,
      cause: 'The operation does not take the value, or not in this state.',
      remedy: 'Do what the text says.',
    },
  ],
};
