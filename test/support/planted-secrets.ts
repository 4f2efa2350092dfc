import { CANARIES } from './leak-watch.ts';

/** What no record, response or log may contain, in the forms in which providers have been seen to echo it. */
export const PLANTED_SECRETS = [
  CANARIES.upstreamKey,
  'sk-proj-Zz9planted8Yy7Xx6',
  'org-planted77Q',
  'proj_planted88Q',
  'req_planted99Q',
  '123456789012',
  'planted@customer.example',
  '203.0.113.77',
  'https://planted.example/path?token=1',
  'planted-host.internal',
];

const [KEY, OTHER_KEY, ORGANIZATION, PROJECT, REQUEST, ACCOUNT, EMAIL, IP, URL, HOST] =
  PLANTED_SECRETS;

/** A provider's message that contains all of them, and what changes a terminal. */
export const PLANTED_TEXT =
  `key ${KEY} or ${OTHER_KEY} in ${ORGANIZATION} of project ${PROJECT}, request ${REQUEST}, ` +
  `account ${ACCOUNT}, ${EMAIL} at ${IP}, see ${URL} (${HOST}) \u001b[31m\u202e`;
