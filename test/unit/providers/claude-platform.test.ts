// The Claude API at clouds: the Messages protocol with signatures of AWS, which are computed again here by the public
// description of Signature Version 4, and with tokens of Google.

import { afterAll, expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { anthropic } from '../../../src/providers/anthropic/anthropic.ts';
import { type ProviderEndpoint, probeProvider } from '../../../src/providers/providers.ts';
import { Secret, type SecretUse } from '../../../src/secrets/secrets.ts';
import { type RecordedRequest, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { makeAttempt } from './make-attempt.ts';

const KEYS = { accessKeyId: 'AKIDEXAMPLE', secretAccessKey: 'secret/key', sessionToken: 'TOKEN/+=' };

class AwsSecret extends Secret {
  override get use(): SecretUse {
    return 'aws';
  }
}

const upstream = await startScriptedUpstream(scripts.good());
afterAll(() => upstream.close());

const endpointWith = (credential: Secret, members: Partial<ProviderEndpoint> = {}): ProviderEndpoint => ({
  name: 'aws',
  kind: 'anthropic',
  baseUrl: upstream.url,
  region: 'us-west-2',
  workspace: 'wrkspc_01AbCd',
  credential,
  ...members,
});
const BODY = { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] };
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/** The authorization header that a request must have. */
function authorizationOf({ method, path, headers, body }: RecordedRequest): string {
  const [pathname = '', query = ''] = path.split('?');
  const signed = ['content-type', 'host', 'x-amz-content-sha256', 'x-amz-date', 'x-amz-security-token'];
  const lines = signed.map((name) => `${name}:${headers[name]}\n`).join('');
  const canonical = [method, pathname, query, lines, signed.join(';'), sha256(body)].join('\n');
  const at = String(headers['x-amz-date']);
  const scope = [at.slice(0, 8), 'us-west-2', 'aws-external-anthropic', 'aws4_request'];
  const key = scope.reduce<string | Buffer>((before, part) => hmac(before, part), `AWS4${KEYS.secretAccessKey}`);
  const signature = hmac(key, ['AWS4-HMAC-SHA256', at, scope.join('/'), sha256(canonical)].join('\n')).toString('hex');
  return `AWS4-HMAC-SHA256 Credential=${KEYS.accessKeyId}/${scope.join('/')}, SignedHeaders=${signed.join(';')}, Signature=${signature}`;
}

const last = () => upstream.requests.at(-1) as RecordedRequest;

test('messages and token counts are signed for the service and the region, and name the workspace', async () => {
  const attempt = makeAttempt('', BODY, { provider: endpointWith(new AwsSecret(JSON.stringify(KEYS))) });
  upstream.play(scripts.good());
  await anthropic.submit(attempt);
  expect(last()).toMatchObject({ method: 'POST', path: '/v1/messages' });
  expect(last().headers).toMatchObject({
    authorization: authorizationOf(last()),
    'anthropic-workspace-id': 'wrkspc_01AbCd',
    'anthropic-version': '2023-06-01',
    'x-amz-security-token': KEYS.sessionToken,
  });
  expect(last().headers).not.toContainKey('x-api-key');
  upstream.play(scripts.json('{"input_tokens":7}'));
  expect(await anthropic.countTokens(attempt)).toBe(7);
  expect(last().headers['authorization']).toBe(authorizationOf(last()));
});

test('a connection test signs the list of models, with its query', async () => {
  upstream.play(scripts.json('{"data":[{}],"has_more":false}'));
  const endpoint = endpointWith(new AwsSecret(JSON.stringify(KEYS)));
  expect(await probeProvider(anthropic, endpoint, 10_000)).toMatchObject({ ok: true });
  expect(last()).toMatchObject({ method: 'GET', path: '/v1/models?limit=1000' });
  expect(last().headers['authorization']).toBe(authorizationOf(last()));
});

test('a key of the platform is a bearer token', async () => {
  upstream.play(scripts.good());
  const provider = endpointWith(new Secret('platform-key'), { isBearer: true });
  await anthropic.submit(makeAttempt('', BODY, { provider }));
  expect(last().headers).toMatchObject({
    authorization: 'Bearer platform-key',
    'anthropic-workspace-id': 'wrkspc_01AbCd',
  });
});

test('at Google, a token is sent to the address with project and workspace', async () => {
  class GoogleToken extends Secret {
    override get use(): SecretUse {
      return 'bearer';
    }
  }
  upstream.play(scripts.good());
  const base = `${upstream.url}/v1alpha/projects/p/locations/global/workspaces/w/invoke`;
  const provider = { name: 'google', kind: 'anthropic', baseUrl: base, credential: new GoogleToken('ya29.token') };
  await anthropic.submit(makeAttempt('', BODY, { provider }));
  expect(last().path).toBe('/v1alpha/projects/p/locations/global/workspaces/w/invoke/v1/messages');
  expect(last().headers['authorization']).toBe('Bearer ya29.token');
  expect(last().headers).not.toContainKey('anthropic-workspace-id');
});
