export const USAGE = `Usage: npm run admin -- <resource> <verb> [options]

  projects list
  projects create ID [--name TEXT]
  plans list
  plans create ID --rpm N --quota N --period hour|day|month [--model ID]...
  plans set ID [--rpm N] [--quota N] [--period P] [--model ID]... [--all-models]
  keys list --project ID
  keys create --project ID --plan ID [--name TEXT] [--expires WHEN]
  keys rotate KEY-ID --project ID [--overlap none|1h|24h|7d] [--expires WHEN]
  keys revoke KEY-ID --project ID
  usage list --project ID
  apply FILE               create or change the projects and plans of a JSON file

A verb that is left out is list. WHEN is 12h, 90d or a time like 2027-01-31T00:00:00Z.

Where:
  --url URL        the router's address (default: http://127.0.0.1:8787, as npm start has it)
  --stack NAME     a deployed stack, e.g. model-router-prod; its REST API is looked up
  --region NAME, --profile NAME   for AWS, beside the usual variables and files
Requests are signed with your AWS credentials, except to a loopback address given by --url.

How:
  --json           print the answer as JSON
  --yes            do not ask before a key stops working at once
  --help           print this

Exit codes: 0 done, 1 refused or failed, 2 wrong command, nothing was sent.`;
