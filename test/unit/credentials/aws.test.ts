// Identities at AWS and secrets of Secrets Manager, over servers on loopback that check what the real ones check.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test';
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { AwsKeys } from '../../../src/secrets/secrets.ts';
import { type Asked, makeLoad, serve, setVariables } from './load.ts';

const KEY = 'AKIAIOSFODNN7EXAMPLE';
const SECRET = 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY';
const SESSION = 'session-token-of-the-test';
const ROLE = 'arn:aws:iam::123456789012:role/turnpike';
const EXPIRES = new Date(Date.now() + 3_600_000);
EXPIRES.setMilliseconds(0);

const directory = mkdtempSync(join(tmpdir(), 'turnpike-aws-'));
const configFile = join(directory, 'config');
/** No identity of this machine takes part. */
const NOTHING = {
  AWS_ACCESS_KEY_ID: undefined,
  AWS_SECRET_ACCESS_KEY: undefined,
  AWS_SESSION_TOKEN: undefined,
  AWS_PROFILE: undefined,
  AWS_REGION: undefined,
  AWS_ROLE_ARN: undefined,
  AWS_WEB_IDENTITY_TOKEN_FILE: undefined,
  AWS_CONTAINER_CREDENTIALS_FULL_URI: undefined,
  AWS_CONTAINER_CREDENTIALS_RELATIVE_URI: undefined,
  AWS_CONTAINER_AUTHORIZATION_TOKEN: undefined,
  AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: undefined,
  AWS_ENDPOINT_URL_STS: undefined,
  AWS_CONFIG_FILE: configFile,
  AWS_SHARED_CREDENTIALS_FILE: join(directory, 'credentials'),
  AWS_EC2_METADATA_DISABLED: 'true',
};
let nothing: Disposable;
beforeAll(() => {
  nothing = setVariables(NOTHING);
  writeFileSync(configFile, '');
  writeFileSync(join(directory, 'credentials'), '');
});
afterAll(() => {
  nothing[Symbol.dispose]();
  rmSync(directory, { recursive: true });
});

const load = (more: object = {}, region = 'eu-central-1') =>
  makeLoad({ type: 'aws', ...more }, {}, { kind: 'bedrock', region });
const keysOf = ({ text }: { text: string }) => JSON.parse(text) as AwsKeys;

/** The signature of a request, recomputed as AWS does it. */
function signatureOf({ headers, body, path }: Asked, region: string, service: string, secret: string): string {
  const [, date, signed] =
    /Credential=[^/]+\/(\d{8})\/.*SignedHeaders=([^,]+)/.exec(headers.get('authorization') ?? '') ?? [];
  const hash = (text: string) => createHash('sha256').update(text).digest('hex');
  const lines = (signed ?? '').split(';').map((name) => `${name}:${headers.get(name)?.trim()}\n`);
  const canonical = ['POST', path, '', lines.join(''), signed, hash(body)].join('\n');
  const scope = `${date}/${region}/${service}/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', headers.get('x-amz-date'), scope, hash(canonical)].join('\n');
  let key: Buffer = Buffer.from(`AWS4${secret}`);
  for (const part of [date, region, service, 'aws4_request'])
    key = createHmac('sha256', key)
      .update(part ?? '')
      .digest();
  return createHmac('sha256', key).update(text).digest('hex');
}

const sentSignature = ({ headers }: Asked) => /Signature=([0-9a-f]+)/.exec(headers.get('authorization') ?? '')?.[1];

/** STS: it answers in XML, and refuses a wrong external id. */
function startSts() {
  return serve(({ body }) => {
    const asked = new URLSearchParams(body);
    const action = asked.get('Action') ?? '';
    if (asked.get('ExternalId') === 'wrong' || asked.get('WebIdentityToken') === 'expired')
      return new Response(
        `<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>User: ${SECRET} is not authorized to perform: sts:AssumeRole</Message></Error><RequestId>r</RequestId></ErrorResponse>`,
        { status: 403, headers: { 'content-type': 'text/xml' } },
      );
    return new Response(
      `<${action}Response xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><${action}Result><Credentials><AccessKeyId>ASIAROLE</AccessKeyId><SecretAccessKey>role-secret</SecretAccessKey><SessionToken>role-session</SessionToken><Expiration>${EXPIRES.toISOString()}</Expiration></Credentials><AssumedRoleUser><Arn>arn:aws:sts::123456789012:assumed-role/turnpike/turnpike</Arn><AssumedRoleId>A:turnpike</AssumedRoleId></AssumedRoleUser></${action}Result><ResponseMetadata><RequestId>r</RequestId></ResponseMetadata></${action}Response>`,
      { headers: { 'content-type': 'text/xml' } },
    );
  });
}

describe('the identity of the host at AWS', () => {
  test('is that of the environment', async () => {
    using _ = setVariables({ AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: SESSION });
    const loaded = await load()();
    expect(loaded).toMatchObject({ use: 'aws', expiresAtMs: null, rereadMs: 300_000 });
    expect(keysOf(loaded)).toEqual({ accessKeyId: KEY, secretAccessKey: SECRET, sessionToken: SESSION });
    expect(loaded.parts).toEqual(expect.arrayContaining([SECRET, SESSION]));
  });

  test('is that of a profile, whose rotated keys are seen', async () => {
    const write = (secret: string) =>
      writeFileSync(configFile, `[profile ours]\naws_access_key_id = ${KEY}\naws_secret_access_key = ${secret}\n`);
    write('first');
    const loadOurs = load({ profile: 'ours' });
    expect(keysOf(await loadOurs()).secretAccessKey).toBe('first');
    write('second');
    expect(keysOf(await loadOurs()).secretAccessKey).toBe('second');
    writeFileSync(configFile, '');
  });

  test('is that of a container', async () => {
    using container = serve(({ headers }) =>
      headers.get('authorization') === 'pod-token'
        ? Response.json({
            AccessKeyId: KEY,
            SecretAccessKey: SECRET,
            Token: SESSION,
            Expiration: EXPIRES.toISOString(),
          })
        : new Response('', { status: 401 }),
    );
    const tokenFile = join(directory, 'pod-token');
    writeFileSync(tokenFile, 'pod-token');
    using _ = setVariables({
      AWS_CONTAINER_CREDENTIALS_FULL_URI: `${container.url}/v1/credentials`,
      AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE: tokenFile,
    });
    const loaded = await load()();
    expect(keysOf(loaded)).toEqual({ accessKeyId: KEY, secretAccessKey: SECRET, sessionToken: SESSION });
    expect(loaded).toMatchObject({ expiresAtMs: EXPIRES.getTime(), rereadMs: null });
  });

  test('is that of an instance, by a session of its metadata server (IMDSv2)', async () => {
    using metadata = serve(({ method, path, headers }) => {
      if (path === '/latest/api/token')
        return method === 'PUT' && headers.has('x-aws-ec2-metadata-token-ttl-seconds')
          ? new Response('imds-session')
          : new Response('', { status: 400 });
      if (headers.get('x-aws-ec2-metadata-token') !== 'imds-session') return new Response('', { status: 401 });
      if (path.endsWith('/security-credentials/')) return new Response('instance-role');
      return Response.json({
        Code: 'Success',
        AccessKeyId: KEY,
        SecretAccessKey: SECRET,
        Token: SESSION,
        Expiration: EXPIRES.toISOString(),
        LastUpdated: new Date().toISOString(),
      });
    });
    using _ = setVariables({
      AWS_EC2_METADATA_DISABLED: undefined,
      AWS_EC2_METADATA_SERVICE_ENDPOINT: metadata.url,
    });
    const loaded = await load()();
    expect(keysOf(loaded).secretAccessKey).toBe(SECRET);
    expect(loaded.expiresAtMs).toBe(EXPIRES.getTime());
  });

  test('is that of a web identity', async () => {
    using sts = startSts();
    const tokenFile = join(directory, 'web-token');
    writeFileSync(tokenFile, 'a-web-token');
    using _ = setVariables({
      AWS_ENDPOINT_URL_STS: sts.url,
      AWS_ROLE_ARN: ROLE,
      AWS_WEB_IDENTITY_TOKEN_FILE: tokenFile,
    });
    expect(keysOf(await load()()).sessionToken).toBe('role-session');
    const asked = new URLSearchParams(sts.asked[0]?.body);
    expect([asked.get('Action'), asked.get('RoleArn'), asked.get('WebIdentityToken')]).toEqual([
      'AssumeRoleWithWebIdentity',
      ROLE,
      'a-web-token',
    ]);
  });

  test('that is missing is a fault that says so', async () => {
    await expect(load()()).rejects.toThrow('this host has no identity at AWS');
  });
});

describe('a role', () => {
  test('is assumed with the external id, by signed requests, and its keys expire', async () => {
    using sts = startSts();
    using _ = setVariables({ AWS_ENDPOINT_URL_STS: sts.url });
    const auth = { type: 'aws_keys' as const, access_key_id: KEY, role_arn: ROLE, external_id: 'acme' };
    const loaded = await makeLoad(auth, {}, { kind: 'bedrock', region: 'eu-central-1', apiKey: SECRET })();
    expect(keysOf(loaded)).toEqual({
      accessKeyId: 'ASIAROLE',
      secretAccessKey: 'role-secret',
      sessionToken: 'role-session',
    });
    expect(loaded).toMatchObject({ expiresAtMs: EXPIRES.getTime(), rereadMs: null });
    expect(loaded.parts).toContain(SECRET);
    const [asked] = sts.asked as [Asked];
    const form = new URLSearchParams(asked.body);
    expect([form.get('Action'), form.get('ExternalId'), form.get('RoleArn')]).toEqual(['AssumeRole', 'acme', ROLE]);
    expect(sentSignature(asked)).toBe(signatureOf(asked, 'eu-central-1', 'sts', SECRET));
  });

  test('that STS refuses is a fault with the reason, without a secret', async () => {
    using sts = startSts();
    using _ = setVariables({ AWS_ENDPOINT_URL_STS: sts.url });
    const auth = { type: 'aws_keys' as const, access_key_id: KEY, role_arn: ROLE, external_id: 'wrong' };
    const failure = await makeLoad(auth, {}, { kind: 'bedrock', region: 'us-east-1', apiKey: SECRET })().catch(
      (thrown) => thrown,
    );
    expect(failure.message).toStartWith(`STS refused to assume the role ${ROLE}: AccessDenied`);
    expect(failure.message).not.toContain(SECRET);
  });
});

describe('a secret of AWS Secrets Manager', () => {
  test('is read by a signed request, in the region of the member, the ARN or the environment', async () => {
    using manager = serve(({ body }) =>
      JSON.parse(body)['SecretId'].includes('binary')
        ? Response.json({ SecretBinary: Buffer.from('sk-binary').toString('base64') })
        : Response.json({ SecretString: JSON.stringify({ key: 'sk-1' }) }),
    );
    using _ = setVariables({ AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: SESSION });
    const environment = { AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.url, AWS_REGION: 'us-west-2' };
    const arn = 'arn:aws:secretsmanager:eu-west-1:123456789012:secret:binary-AbCdEf';
    const cases = [
      [{ secret: 'vendor', region: 'eu-central-1', field: 'key' }, 'eu-central-1', 'sk-1'],
      [{ secret: arn }, 'eu-west-1', 'sk-binary'],
      [{ secret: 'vendor', field: 'key' }, 'us-west-2', 'sk-1'],
    ] as const;
    for (const [members, region, text] of cases) {
      const loaded = await makeLoad({ type: 'aws_secret', ...members }, environment)();
      expect(loaded).toMatchObject({ text, use: 'key', rereadMs: 300_000 });
      const asked = manager.asked.at(-1) as Asked;
      expect(asked.headers.get('x-amz-target')).toBe('secretsmanager.GetSecretValue');
      expect(asked.headers.get('x-amz-security-token')).toBe(SESSION);
      expect(sentSignature(asked)).toBe(signatureOf(asked, region, 'secretsmanager', SECRET));
    }
    const load = makeLoad({ type: 'aws_secret', secret: 'vendor' }, { AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.url });
    await expect(load()).rejects.toThrow('the region of AWS Secrets Manager is not known');
  });

  test('that does not exist, or may not be read, is a fault with the reason', async () => {
    using manager = serve(() =>
      Response.json(
        { __type: 'com.amazonaws#ResourceNotFoundException', Message: `Secrets Manager can't find ${SESSION}.` },
        { status: 400 },
      ),
    );
    using _ = setVariables({ AWS_ACCESS_KEY_ID: KEY, AWS_SECRET_ACCESS_KEY: SECRET, AWS_SESSION_TOKEN: SESSION });
    const environment = { AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.url };
    const load = makeLoad({ type: 'aws_secret', secret: 'vendor', region: 'us-east-1' }, environment);
    await expect(load()).rejects.toThrow(
      "AWS Secrets Manager answered 400: ResourceNotFoundException: Secrets Manager can't find [redacted].",
    );
  });
});
