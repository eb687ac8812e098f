// The paths that a coding agent asks beside messages: its sign-in. They have the forms of OAuth, not of the Messages API.

import type { OAuthAnswer, TelemetrySignal } from '../agents/agents.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { readBounded } from '../http/http.ts';
import { baseOf } from './base-of.ts';
import type { AgentEndpoints } from './dependencies.ts';
import { type EncodedReply, encodeReply } from './encode-reply.ts';
import type { Exchange } from './exchange.ts';

const FORM = /^application\/x-www-form-urlencoded\s*(?:;|$)/i;

type Form = Readonly<Record<string, string | undefined>>;

export async function getAuthorizationServer(exchange: Exchange): Promise<EncodedReply> {
  return encodeJson(200, requireOn(exchange).signIn.metadata(baseOf(exchange)));
}

/** Leads a browser to the console, where the person signs in and approves the code. */
export async function getDevice(exchange: Exchange): Promise<EncodedReply> {
  const { consoleOrigin } = requireOn(exchange);
  const code = new URLSearchParams(exchange.query).get('user_code') ?? '';
  const query = /^[A-Za-z-]{1,16}$/.test(code) ? `?user_code=${code}` : '';
  const location = `${consoleOrigin() ?? ''}/console/device${query}`;
  return { status: 302, headers: { location, 'cache-control': 'no-store' }, body: '' };
}

export const postDeviceAuthorization = answerForm('authorizeDevice');
export const postToken = answerForm('token');
export const postRevoke = answerForm('revoke');

/** Other keys get 404, which clients take for none. */
export async function getSettings(exchange: Exchange): Promise<EncodedReply> {
  const agents = requireOn(exchange);
  const telemetryUrl = agents.relay === null ? null : baseOf(exchange);
  const known = exchange.headers.get('if-none-match');
  return encodeReply(await agents.getManagedSettings(exchange.open(), telemetryUrl, known), null);
}

export async function getOAuthUsage(exchange: Exchange): Promise<EncodedReply> {
  return encodeReply(await requireOn(exchange).getSpending(exchange.open()), null);
}

/** Without a collector, the body is not read. */
export function postTelemetry(signal: TelemetrySignal) {
  return async (exchange: Exchange): Promise<EncodedReply> => {
    const agents = requireOn(exchange);
    const sender = await agents.identifyAgent(exchange.open());
    const { relay } = agents;
    if (relay !== null) {
      const { clock } = exchange.dependencies;
      relay.admit(sender, clock.nowMs());
      const read = await exchange.readBody(bounds.telemetryRelayBytesMax, sender.company);
      const body = read instanceof Uint8Array ? read : await read.bytes();
      await relay.pass(sender, signal, exchange.headers.get('content-type') ?? '', body, clock.nowMs());
    }
    return encodeJson(200, {});
  };
}

function answerForm(method: 'authorizeDevice' | 'token' | 'revoke') {
  return async (exchange: Exchange): Promise<EncodedReply> => {
    const { signIn } = requireOn(exchange);
    const { address, requestId } = exchange;
    const base = baseOf(exchange);
    const answer = await signIn[method](await readForm(exchange.request), { base, address, requestId });
    return encodeOAuth(answer);
  };
}

/** Throws route_not_found. */
function requireOn({ dependencies: { agents } }: Exchange): AgentEndpoints {
  if (agents === undefined) throw new TurnpikeError('route_not_found', 'Coding agents cannot sign in here.');
  agents.signIn.requireOn();
  return agents;
}

function encodeOAuth({ status, body }: OAuthAnswer): EncodedReply {
  return encodeJson(status, body);
}

function encodeJson(status: number, body: object): EncodedReply {
  return { status, headers: {}, body: JSON.stringify(body) };
}

/** Fields that are repeated are not read. Throws content_type_unsupported, body_too_large, invalid_request. */
async function readForm(request: Request): Promise<Form> {
  if (!FORM.test(request.headers.get('content-type') ?? ''))
    throw new TurnpikeError('content_type_unsupported', 'content-type: must be application/x-www-form-urlencoded.');
  const text = (await readBounded(request, bounds.oauthBodyBytesMax)).toString('utf8');
  const fields = new URLSearchParams(text);
  const names = [...new Set(fields.keys())].filter((name) => fields.getAll(name).length === 1);
  return Object.fromEntries(names.map((name) => [name, fields.get(name) ?? undefined]));
}
