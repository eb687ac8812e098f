// How a provider obtains its credential: an API key, a reference to a secret, or an identity at a cloud.

import { NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import type { ReactNode } from 'react';
import type { CatalogShape } from '../../../src/admin-api/shapes.ts';

export type AuthType = CatalogShape['provider_kinds'][number]['auth_types'][number];

/** `auth` as the form has it: `type` is empty for an API key, and a member may be absent or empty. */
type AuthValues = { type: string } & Record<string, string>;

export interface CredentialValues {
  auth: AuthValues;
  api_key: string;
}

const keyName = 'API key';

const typeNames = {
  env: 'From an environment variable',
  file: 'From a file',
  aws_secret: 'From AWS Secrets Manager',
  google_secret: 'From Google Secret Manager',
  azure_secret: 'From Azure Key Vault',
  vault: 'From HashiCorp Vault',
  aws: 'AWS identity of this service',
  aws_keys: 'AWS access key',
  google: 'Google identity of this service',
  google_key: 'Google service account key',
  azure: 'Azure identity of this service',
  azure_client: 'Azure service principal',
} as Record<string, string>;

const secretLabels = {
  aws_keys: 'Secret access key',
  google_key: 'Service account key (JSON)',
  azure_client: 'Client secret',
} as Record<string, string>;

interface Words {
  label: string;
  description: string;
}

/** A member that names where the key is stored, beside the field in which it may be. */
const storedKey = (member: string, label: string, description: string): Record<string, Words> => ({
  [member]: { label, description },
  field: {
    label: 'JSON field',
    description: 'The field with the key, if the secret is a JSON object. Leave empty if the whole text is the key.',
  },
});

const roleWords = {
  role_arn: { label: 'Role ARN', description: 'The role to assume. Optional.' },
  external_id: { label: 'External ID', description: 'Only with a role, if its trust policy requires one.' },
};

/** By type and member. */
const memberWords = {
  env: storedKey('name', 'Variable', 'Must be allowed by TURNPIKE_CREDENTIAL_VARIABLES.'),
  file: storedKey('path', 'File path', 'Absolute, in a directory of TURNPIKE_CREDENTIAL_DIRECTORIES.'),
  aws_secret: {
    ...storedKey('secret', 'Secret', 'Name or ARN.'),
    region: { label: 'Secret region', description: 'Leave empty to use the region of the ARN, or AWS_REGION.' },
  },
  google_secret: storedKey(
    'secret',
    'Secret',
    'projects/PROJECT/secrets/NAME. Add /versions/VERSION to pin a version.',
  ),
  azure_secret: storedKey('secret', 'Secret URL', 'For example https://NAME.vault.azure.net/secrets/NAME.'),
  vault: {
    secret: { label: 'Secret path', description: 'For example secret/data/turnpike. Requires VAULT_ADDR.' },
    field: { label: 'Field', description: 'The field of the secret with the key.' },
  },
  aws: {
    profile: {
      label: 'Profile',
      description: 'From the AWS configuration files. Leave empty to use the default chain.',
    },
    ...roleWords,
  },
  aws_keys: {
    access_key_id: { label: 'Access key ID', description: 'For example AKIAIOSFODNN7EXAMPLE.' },
    ...roleWords,
  },
  google: {
    path: {
      label: 'Credentials file',
      description:
        'Absolute, in a directory of TURNPIKE_CREDENTIAL_DIRECTORIES. Leave empty to use application default credentials.',
    },
  },
  azure: {
    client_id: { label: 'Client ID', description: 'Of a managed identity. Leave empty to use the default identity.' },
  },
  azure_client: {
    tenant_id: { label: 'Tenant ID', description: 'Directory (tenant) ID, a UUID.' },
    client_id: { label: 'Client ID', description: 'Application (client) ID, a UUID.' },
  },
} as Record<string, Record<string, Words>>;

/** The name of a type of `auth`; null: an API key. */
export function authName(type: string | null): string {
  return type === null ? keyName : (typeNames[type] ?? type);
}

/** Label and hint of a member. */
export function wordsOfMember(type: string, name: string): Words | { label: string } {
  return memberWords[type]?.[name] ?? { label: name };
}

/** Values for a provider as the service describes it; undefined for a new one. */
export function credentialValues(auth?: { type: string }): CredentialValues {
  return { auth: { type: '', ...(auth as Record<string, string> | undefined) }, api_key: '' };
}

/** The members of the provider in an applied document. Without `api_key`, the service keeps one of the same type. */
export function credentialMembers(
  { auth, api_key }: CredentialValues,
  types: readonly AuthType[],
): { auth?: object; api_key?: string } {
  const key = api_key.trim();
  const withKey = key === '' ? {} : { api_key: key };
  const type = types.find((one) => one.type === auth.type);
  if (type === undefined) return withKey;
  const members = type.members.flatMap(({ name }) => {
    const text = auth[name]?.trim() ?? '';
    return text === '' ? [] : [[name, text]];
  });
  return { auth: { type: auth.type, ...Object.fromEntries(members) }, ...(type.needs_secret && withKey) };
}

/** Whether a fault of the field is shown by these fields. */
export function isCredentialField(field: string, { auth }: CredentialValues, types: readonly AuthType[]): boolean {
  const type = types.find((one) => one.type === auth.type);
  if (field === 'api_key') return type === undefined || type.needs_secret;
  return ['auth', 'auth.type'].includes(field) || (type?.members.some(({ name }) => field === `auth.${name}`) ?? false);
}

interface CredentialFieldsProps {
  form: {
    errors: Readonly<Record<string, ReactNode>>;
    setFieldValue(path: string, value: unknown): void;
    clearErrors(): void;
  };
  values: CredentialValues;
  /** The place of the values in the form, such as "further.0.", empty for the form itself. */
  path?: string;
  types: readonly AuthType[];
  /** The type whose secret may be stored, empty for an API key; null for a new credential. */
  storedType: string | null;
  /** Follows the hint of a stored secret. */
  keptHint?: string;
  /** Precedes the hint of a key that may be absent. */
  noKeyHint?: string;
}

export function CredentialFields({
  form,
  values,
  path = '',
  types,
  storedType,
  keptHint = '',
  noKeyHint = '',
}: CredentialFieldsProps) {
  const { auth } = values;
  const type = types.find((one) => one.type === auth.type);
  const choose = (wanted: string) => {
    form.clearErrors();
    form.setFieldValue(`${path}api_key`, '');
    form.setFieldValue(`${path}auth`, { type: wanted });
  };
  return (
    <>
      <NativeSelect
        label="Credential"
        data={[{ value: '', label: keyName }, ...types.map((one) => ({ value: one.type, label: authName(one.type) }))]}
        value={auth.type}
        onChange={(event) => choose(event.currentTarget.value)}
        error={form.errors[`${path}auth`] ?? form.errors[`${path}auth.type`]}
      />
      {type?.members.map(({ name, required }) => (
        <TextInput
          key={`${type.type} ${name}`}
          {...wordsOfMember(type.type, name)}
          required={required}
          autoComplete="off"
          spellCheck={false}
          value={auth[name] ?? ''}
          onChange={(event) => form.setFieldValue(`${path}auth.${name}`, event.currentTarget.value)}
          error={form.errors[`${path}auth.${name}`]}
        />
      ))}
      {(type?.needs_secret ?? true) && (
        <SecretField
          values={values}
          isStored={storedType === auth.type}
          keptHint={keptHint}
          noKeyHint={auth.type === '' ? noKeyHint : ''}
          onChange={(text) => form.setFieldValue(`${path}api_key`, text)}
          error={form.errors[`${path}api_key`]}
        />
      )}
    </>
  );
}

interface SecretFieldProps {
  values: CredentialValues;
  isStored: boolean;
  keptHint: string;
  noKeyHint: string;
  onChange: (text: string) => void;
  error: ReactNode;
}

function SecretField({ values: { auth, api_key }, isStored, keptHint, noKeyHint, onChange, error }: SecretFieldProps) {
  const label = secretLabels[auth.type] ?? keyName;
  const noun = auth.type === '' ? 'key' : 'secret';
  const newLabel = `New ${auth.type === '' ? keyName : label.charAt(0).toLowerCase() + label.slice(1)}`;
  const keepsIt = `Leave empty to keep the stored ${noun}. ${keptHint}`.trim();
  return (
    <PasswordInput
      label={isStored ? newLabel : label}
      description={isStored ? keepsIt : `${noKeyHint} Stored encrypted and never shown again.`.trim()}
      required={auth.type !== '' && !isStored}
      autoComplete="off"
      value={api_key}
      onChange={(event) => onChange(event.currentTarget.value)}
      error={error}
    />
  );
}
