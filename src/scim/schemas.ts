// Discovery (RFC 7644, section 4): what this service supports, its two types of resources, and their schemas. They list exactly the
// attributes that are stored.

import { bounds } from '../config/config.ts';
import type { JsonMembers } from './read-members.ts';

export const USER_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:User';
export const GROUP_SCHEMA = 'urn:ietf:params:scim:schemas:core:2.0:Group';

export function providerConfig(base: string): JsonMembers {
  const no = { supported: false };
  return {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig'],
    patch: { supported: true },
    bulk: { ...no, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: bounds.scimPageMax },
    changePassword: no,
    sort: no,
    etag: no,
    authenticationSchemes: [
      {
        type: 'oauthbearertoken',
        name: 'Bearer token',
        description: 'A token with the role scim, in the header "authorization: Bearer <token>".',
        specUri: 'https://www.rfc-editor.org/info/rfc6750',
        primary: true,
      },
    ],
    meta: { resourceType: 'ServiceProviderConfig', location: `${base}/ServiceProviderConfig` },
  };
}

export function resourceTypes(base: string): JsonMembers[] {
  const type = (name: string, endpoint: string, description: string, schema: string) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:ResourceType'],
    id: name,
    name,
    description,
    endpoint,
    schema,
    schemaExtensions: [],
    meta: { resourceType: 'ResourceType', location: `${base}/ResourceTypes/${name}` },
  });
  return [
    type('User', '/Users', 'A person of the company', USER_SCHEMA),
    type('Group', '/Groups', 'A group, which may give its members an account and a role', GROUP_SCHEMA),
  ];
}

export function schemas(base: string): JsonMembers[] {
  const schema = (id: string, name: string, description: string, attributes: readonly Attribute[]) => ({
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:Schema'],
    id,
    name,
    description,
    attributes,
    meta: { resourceType: 'Schema', location: `${base}/Schemas/${id}` },
  });
  return [
    schema(USER_SCHEMA, 'User', 'A person of the company', userAttributes),
    schema(GROUP_SCHEMA, 'Group', 'A group of users', groupAttributes),
  ];
}

interface Attribute {
  name: string;
  type: 'string' | 'boolean' | 'complex' | 'reference';
  multiValued: boolean;
  description: string;
  required: boolean;
  caseExact?: boolean;
  mutability: 'readWrite' | 'readOnly' | 'immutable';
  returned: 'default';
  uniqueness: 'none' | 'server';
  subAttributes?: readonly Attribute[];
  canonicalValues?: readonly string[];
  referenceTypes?: readonly string[];
}

function attribute(
  name: string,
  type: Attribute['type'],
  description: string,
  more: Partial<Attribute> = {},
): Attribute {
  return {
    name,
    type,
    multiValued: false,
    description,
    required: false,
    ...(type === 'string' && { caseExact: false }),
    ...(type === 'reference' && { caseExact: true }),
    mutability: 'readWrite',
    returned: 'default',
    uniqueness: 'none',
    ...more,
  };
}

const readOnly = { mutability: 'readOnly' } as const;
const immutable = { mutability: 'immutable' } as const;

const userAttributes: readonly Attribute[] = [
  attribute('userName', 'string', 'Identifies the user in the directory.', { required: true, uniqueness: 'server' }),
  attribute('name', 'complex', 'The parts of the name.', {
    subAttributes: [
      attribute('formatted', 'string', 'The whole name.'),
      attribute('familyName', 'string', 'The family name.'),
      attribute('givenName', 'string', 'The given name.'),
    ],
  }),
  attribute('displayName', 'string', 'The name that others see.'),
  attribute('emails', 'complex', 'The person signs in with the primary address, or the first; else with userName.', {
    multiValued: true,
    required: true,
    subAttributes: [
      attribute('value', 'string', 'The address.', { required: true }),
      attribute('type', 'string', 'The kind of the address.', { canonicalValues: ['work', 'home', 'other'] }),
      attribute('primary', 'boolean', 'Whether the person signs in with it.'),
    ],
  }),
  attribute('active', 'boolean', 'Whether the person has access.', { required: true }),
  attribute('groups', 'complex', 'The groups of the user.', {
    ...readOnly,
    multiValued: true,
    subAttributes: [
      attribute('value', 'string', 'The id of the group.', readOnly),
      attribute('$ref', 'reference', 'The URI of the group.', { ...readOnly, referenceTypes: ['Group'] }),
      attribute('display', 'string', 'The name of the group.', readOnly),
      attribute('type', 'string', 'Always direct.', { ...readOnly, canonicalValues: ['direct'] }),
    ],
  }),
];

const groupAttributes: readonly Attribute[] = [
  attribute('displayName', 'string', 'The name by which the group is mapped to an account and a role.', {
    required: true,
    uniqueness: 'server',
  }),
  attribute('members', 'complex', 'The users of the group.', {
    multiValued: true,
    subAttributes: [
      attribute('value', 'string', 'The id of the user.', immutable),
      attribute('$ref', 'reference', 'The URI of the user.', { ...immutable, referenceTypes: ['User'] }),
      attribute('type', 'string', 'Always User.', { ...immutable, canonicalValues: ['User'] }),
    ],
  }),
];
