// Requests over a real socket, whose signatures botocore verifies from what arrived.

import { type ProviderEndpoint, probeProvider, providerKinds } from '../../../src/providers/providers.ts';
import { Secret, type SecretUse } from '../../../src/secrets/secrets.ts';
import { type RecordedRequest, scripts, startScriptedUpstream } from '../../support/scripted-upstream.ts';
import { faultOf, makeAttempt } from '../../unit/providers/make-attempt.ts';
import type { Judge } from './open-judge.ts';
import type { Check } from './run.ts';

export const REGION = 'eu-central-1';
const KEYS = { accessKeyId: 'AKIDEXAMPLE12345', secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY' };
export const WITH_TOKEN = { ...KEYS, sessionToken: 'IQoJb3JpZ2luX2VjE/+=token==' };

/** Ids that AWS accepts, which its own client must send in the same way. */
const MODELS = [
  'anthropic.claude-sonnet-4-5-20250929-v1:0',
  'us.anthropic.claude-opus-4-6-v1',
  'arn:aws:bedrock:eu-central-1:123456789012:application-inference-profile/abcdef123456',
  'arn:aws-us-gov:bedrock:us-gov-west-1::foundation-model/anthropic.claude-3-5-sonnet-20240620-v1:0',
  'amazon.nova-pro-v1:0',
];
/** Ids that only a mistake of an operator can have: the signature must still be right. */
const ODD_MODELS = ['modèle.日本 🗼:1', "it's (odd)*! ~.-_", '100%25/..//a b?c=d&e=f#g+h', 'a'.repeat(2_000)];

export class AwsSecret extends Secret {
  override get use(): SecretUse {
    return 'aws';
  }
}

export async function judgeSignatures(judge: Judge, check: Check): Promise<void> {
  await using upstream = await startScriptedUpstream(scripts.html(500));
  const bedrock = providerKinds.get('bedrock');
  if (bedrock === undefined) throw new Error('the kind bedrock is missing');
  const endpointOf = (keys: object, path: string): ProviderEndpoint => ({
    name: 'bedrock',
    kind: 'bedrock',
    baseUrl: upstream.url + path,
    region: REGION,
    credential: new AwsSecret(JSON.stringify(keys)),
  });
  const arrived = (): RecordedRequest => {
    const request = upstream.requests.pop();
    if (request === undefined) throw new Error('nothing was sent');
    return request;
  };
  for (const model of [...MODELS, ...ODD_MODELS]) {
    const name = model.slice(0, 40);
    const paths = new Set<string>();
    for (const keys of [KEYS, WITH_TOKEN])
      for (const [stream, protocol] of [
        [true, 'messages'],
        [false, 'messages'],
        [true, 'converse'],
        [false, 'converse'],
      ] as const) {
        const attempt = makeAttempt('', {
          model: 'm',
          max_tokens: 9,
          stream,
          messages: [{ role: 'user', content: 'ü 🗼' }],
        });
        const provider = endpointOf(keys, '');
        await faultOf(bedrock.submit({ ...attempt, provider, upstreamModel: model, protocol }));
        const request = arrived();
        paths.add(request.path.replace(/\/[^/]*$/, '/converse'));
        await judgeRequest(judge, check, `${name} ${protocol} ${stream}`, request, keys);
      }
    check(`${name}: one path`, paths.size === 1);
    if (!MODELS.includes(model)) continue;
    const { path } = await judge.ask({ ask: 'path', model });
    check(`${name}: the path of AWS's client, ${String(path)}`, paths.has(String(path)));
  }
  const counted = makeAttempt('', { model: 'm', max_tokens: 9, messages: [{ role: 'user', content: 'Hi' }] });
  const provider = endpointOf(WITH_TOKEN, '/behind/a%20proxy');
  const [model = ''] = MODELS;
  await faultOf(bedrock.countTokens({ ...counted, provider, upstreamModel: `eu.${model}` }));
  const counting = arrived();
  check(
    'the counter gets the foundation model',
    counting.path.endsWith('/anthropic.claude-sonnet-4-5-20250929-v1%3A0/count-tokens'),
  );
  await judgeRequest(judge, check, 'a count below a path', counting, WITH_TOKEN);
  await probeProvider(bedrock, provider);
  const probe = arrived();
  await judgeRequest(judge, check, 'a probe', probe, WITH_TOKEN);
  await judgeChanges(judge, check, probe);
}

export async function judgeRequest(
  judge: Judge,
  check: Check,
  name: string,
  { method, path, headers, body }: RecordedRequest,
  keys: object,
  service = 'bedrock',
): Promise<void> {
  const said = await judge.ask({ ask: 'signature', method, path, headers, body, keys, region: REGION, service });
  check(`${name}: signature of ${String(said['canonical_path'])}`, said['is_right'] === true);
  const isStreamed = headers['x-amz-content-sha256'] === 'UNSIGNED-PAYLOAD';
  check(`${name}: hash of the body`, said['is_hashed'] === true || (isStreamed && method === 'PUT'));
  check(`${name}: session token`, said['has_token'] === true);
  const names = said['names'] as string[];
  check(`${name}: signs ${names.join()}`, names.includes('host') && names.includes('x-amz-date'));
}

/** The judge itself must refuse a request that was changed. */
async function judgeChanges(judge: Judge, check: Check, request: RecordedRequest): Promise<void> {
  const { path, headers, body } = request;
  const changed: Record<string, object> = {
    'another path': { path: path.replace('%20', '%21') },
    'another host': { headers: { ...headers, host: 'other.example.com' } },
    'another region': { region: 'us-east-1' },
    'another key': { keys: { ...WITH_TOKEN, secretAccessKey: 'x' } },
    'another body': { body: `${body} `, headers: { ...headers, 'x-amz-content-sha256': '' } },
  };
  for (const [name, change] of Object.entries(changed)) {
    const asked = { ask: 'signature', path, headers, body, keys: WITH_TOKEN, region: REGION, ...change };
    check(`${name} is noticed`, (await judge.ask(asked))['is_right'] === false);
  }
}
