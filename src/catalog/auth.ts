// How a credential is obtained: from a variable, a file or a secret manager, or as an identity at a cloud. Stored
// unencrypted: the secret that a type needs is the provider's `api_key`, which is sealed.

import { z } from 'zod';
import { findPrivateHost } from '../base/addresses.ts';
import { bounds } from '../config/config.ts';

const text = z
  .string()
  .min(1)
  .max(bounds.authCharactersMax)
  .regex(/^[^\p{Cc}\p{Cs}]*$/u, 'must not have control characters');
/** The member of a JSON object that has the secret; absent: the whole text is the secret. */
const field = text.exactOptional();
const role = {
  role_arn: text.regex(/^arn:[\w-]+:iam::\d{12}:role\/\S+$/, 'must be the ARN of a role').exactOptional(),
  external_id: text.exactOptional(),
};
const accessKeyId = text.regex(/^\w{16,128}$/, 'must be the id of an access key, such as AKIAIOSFODNN7EXAMPLE');
const uuid = z.guid('must be a UUID');

/** Other paths of Vault return its own tokens; the first segments may be a namespace. */
function isOfKeyValueEngine(path: string): boolean {
  return path
    .split('/')
    .every((part) => !['auth', 'sys', 'identity', 'cubbyhole'].includes(part) && !/^\.+$/.test(part));
}

const types = [
  z.strictObject({
    type: z.literal('env'),
    name: text.regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be the name of an environment variable'),
    field,
  }),
  z.strictObject({ type: z.literal('file'), path: text.regex(/^\//, 'must be an absolute path'), field }),
  z.strictObject({
    type: z.literal('aws_secret'),
    secret: text,
    region: text
      .regex(/^[a-z]{2}(?:-[a-z]+)+-\d$/, 'must be the name of a region of AWS, such as us-east-1')
      .exactOptional(),
    field,
  }),
  z.strictObject({
    type: z.literal('google_secret'),
    secret: text.regex(
      /^projects\/[a-z0-9][a-z0-9:.-]*\/secrets\/[\w-]+(?:\/versions\/\w+)?$/,
      'must be projects/PROJECT/secrets/NAME, with or without /versions/VERSION',
    ),
    field,
  }),
  z.strictObject({
    type: z.literal('azure_secret'),
    secret: text.regex(
      /^https:\/\/[a-z0-9-]+\.vault\.(?:azure\.net|azure\.cn|usgovcloudapi\.net)\/secrets\/[A-Za-z0-9-]+(?:\/[0-9a-f]{32})?$/,
      'must be the URL of a secret, such as https://NAME.vault.azure.net/secrets/NAME',
    ),
    field,
  }),
  z.strictObject({
    type: z.literal('vault'),
    secret: text
      .regex(/^[\w.-]+(?:\/[\w.-]+)+$/, 'must be a path such as secret/data/turnpike')
      .refine(isOfKeyValueEngine, 'must be the path of a secret of a key-value engine'),
    field: text,
  }),
  z.strictObject({ type: z.literal('aws'), profile: text.exactOptional(), ...role }),
  z.strictObject({ type: z.literal('aws_keys'), access_key_id: accessKeyId, ...role }),
  z.strictObject({
    type: z.literal('google'),
    path: text.regex(/^\//, 'must be an absolute path').exactOptional(),
  }),
  z.strictObject({ type: z.literal('google_key') }),
  z.strictObject({ type: z.literal('azure'), client_id: uuid.exactOptional() }),
  z.strictObject({ type: z.literal('azure_client'), tenant_id: uuid, client_id: uuid }),
] as const;

export const authInput = z.discriminatedUnion('type', types, {
  error: (issue) =>
    issue.code === 'invalid_union'
      ? `must be one of ${types.map(({ shape }) => shape.type.value).join(', ')}`
      : undefined,
});
export type Auth = z.output<typeof authInput>;
export type AuthType = Auth['type'];

const WITH_SECRET: readonly AuthType[] = ['aws_keys', 'google_key', 'azure_client'];

/** Whether the type needs a secret in `api_key`; all others refuse one. */
export function needsSecret({ type }: Pick<Auth, 'type'>): boolean {
  return WITH_SECRET.includes(type);
}

const AT_AWS: readonly string[] = ['bedrock', 'anthropic'];
const AT_GOOGLE: readonly string[] = ['vertex', 'anthropic'];
const KINDS_OF_IDENTITIES: Readonly<Partial<Record<AuthType, readonly string[]>>> = {
  aws: AT_AWS,
  aws_keys: AT_AWS,
  google: AT_GOOGLE,
  google_key: AT_GOOGLE,
  azure: ['foundry'],
  azure_client: ['foundry'],
};

/** The only provider kinds that a type is for; null: any. */
export function kindsOfAuth({ type }: Pick<Auth, 'type'>): readonly string[] | null {
  return KINDS_OF_IDENTITIES[type] ?? null;
}

/** A type of `auth` for forms: its members beside `type`, in the order of the documentation. */
export interface AuthTypeDescription {
  type: AuthType;
  needsSecret: boolean;
  members: { name: string; isRequired: boolean }[];
}

/** The types that forms offer for a kind outside the service: forms have no region for the kind anthropic. */
export function describeAuthTypes(kind: string): AuthTypeDescription[] {
  return types.flatMap(({ shape: { type: literal, ...members } }) => {
    const type = literal.value;
    if ((kindsOfAuth({ type })?.[0] ?? kind) !== kind) return [];
    const described = Object.entries(members).map(([name, member]) => ({
      name,
      isRequired: !(member instanceof z.ZodExactOptional),
    }));
    return [{ type, needsSecret: needsSecret({ type }), members: described }];
  });
}

/** The clouds whose identities become tokens. A token has all permissions of its identity. */
export type TokenCloud = 'google' | 'azure';

const TOKEN_CLOUDS: Readonly<Partial<Record<AuthType, TokenCloud>>> = {
  google: 'google',
  google_key: 'google',
  azure: 'azure',
  azure_client: 'azure',
};

/** Hosts of a cloud's models. Azure also has hosts of its customers below azure.com, such as cloudapp.azure.com. */
const TOKEN_HOSTS: Readonly<Record<TokenCloud, { pattern: RegExp; words: string }>> = {
  google: { pattern: /\.googleapis\.com$/, words: 'googleapis.com' },
  azure: {
    pattern: /\.(?:services\.ai|models\.ai|openai|cognitiveservices)\.azure\.(?:com|us|cn)$/,
    words: 'services.ai.azure.com, openai.azure.com or cognitiveservices.azure.com',
  },
};

/** The cloud whose tokens a type sends; null: it sends none. */
export function tokenCloudOf({ type }: Auth): TokenCloud | null {
  return TOKEN_CLOUDS[type] ?? null;
}

/** Why tokens of the cloud are not sent to an address; null: they are. */
export function tokenHostFault(cloud: TokenCloud, baseUrl: string): string | null {
  const url = URL.parse(baseUrl);
  const { pattern, words } = TOKEN_HOSTS[cloud];
  if (url !== null && url.protocol === 'https:' && pattern.test(url.hostname)) return null;
  if (findPrivateHost(baseUrl) !== null) return null;
  return `must be at ${words} with https, or a private IP address: other hosts are not sent tokens`;
}
