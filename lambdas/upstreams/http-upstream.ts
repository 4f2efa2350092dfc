import type { AwsIdentity } from '../aws/sign.ts';
import { isRefusal, UpstreamError } from '../protocols/rejections/upstream-error.ts';
import type { Clock } from '../support/clock.ts';
import { errorOfAbort } from './post.ts';
import { createRoleSigner } from './role-signer.ts';
import type { Credential, UpstreamSecrets } from './secrets.ts';
import { createSend, ROLE_VERSION } from './send.ts';
import type { EventBatches, Upstream, UpstreamCall } from './upstream.ts';

const noRole = () => Promise.reject(new Error('There are no credentials of a role.'));

/** What a header can carry. */
const SENDABLE = /^[\x20-\x7e]+$/;

const throwIfAborted = (signal: AbortSignal) => {
  if (signal.aborted) throw errorOfAbort(signal);
};

/** A field of the upstream secret, and what ends the wait for it. */
type SecretOf = { name: string; signal: AbortSignal };

/** The credential of another version than the rejected one, if the secret has one. */
const newerCredential = async (
  { name, signal }: SecretOf,
  secrets: UpstreamSecrets,
  version: string,
): Promise<Credential | undefined> => {
  const newer = await secrets.refused(name, version, signal).catch(() => undefined);
  throwIfAborted(signal);
  return newer;
};

/** @throws UpstreamError `credential`: a fault of this environment or of the secret, not of the target */
const credentialFor = async (secret: SecretOf, secrets: UpstreamSecrets): Promise<Credential> => {
  const { name, signal } = secret;
  try {
    const known = await secrets.get(name, signal);
    if (SENDABLE.test(known.value)) return known;
    const newer = await newerCredential(secret, secrets, known.version);
    if (newer && SENDABLE.test(newer.value)) return newer;
    throw new Error('The credential holds what no header can carry.');
  } catch (cause) {
    throwIfAborted(signal);
    throw new UpstreamError('credential', `no credential '${name}'`, { cause });
  }
};

/** Calls providers over HTTP, with connections kept alive between calls. */
export const createHttpUpstream = (parts: {
  secrets: UpstreamSecrets;
  /** Of the function's role, for targets with `auth: "iam"`. @default none: these targets fail */
  roleCredentials?: AwsIdentity['credentials'] | undefined;
  clock: Clock;
}): Upstream => {
  const { secrets, roleCredentials = noRole, clock } = parts;
  const role = createRoleSigner(roleCredentials);
  const send = createSend({ role, clock });

  const openWithSecret = async (call: UpstreamCall, name: string): Promise<EventBatches> => {
    const secret = { name, signal: call.signal };
    const credential = await credentialFor(secret, secrets);
    let batches: EventBatches;
    try {
      batches = await send(call, credential);
    } catch (error) {
      if (!isRefusal(error)) throw error;
      const newer = await newerCredential(secret, secrets, credential.version);
      if (!newer || !SENDABLE.test(newer.value)) throw error;
      // Once: the rejected credential has been replaced since it was read.
      batches = await send(call, newer);
    }
    secrets.accepted(name);
    return batches;
  };

  const openAsRole = async (call: UpstreamCall): Promise<EventBatches> => {
    const known = role.skewMs();
    try {
      return await send(call, undefined);
    } catch (error) {
      if (!isRefusal(error) || role.skewMs() === known) throw error;
      // Once: the rejection has shown that our time was wrong.
      return send(call, undefined);
    }
  };

  return {
    open: (call) => {
      const { secret } = call.target;
      return secret === undefined ? openAsRole(call) : openWithSecret(call, secret);
    },
    prefetch: (targets) => {
      if (targets.some(({ secret }) => secret !== undefined)) secrets.prefetch();
    },
    credentialVersion: ({ secret }) =>
      secret === undefined ? ROLE_VERSION : secrets.version(secret),
  };
};
