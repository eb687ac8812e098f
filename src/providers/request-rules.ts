// Rules of each provider kind that other protocols do not have. A provider answers 400 to a whole request for one name,
// keyword or image that it does not take. Each converter reads its row. Sources are as of November 2026.

export interface RequestRules {
  /** Names of tools; `prefix` goes before a replaced name, whose first character may be refused. */
  toolName: { form: RegExp; prefix: string };
  /** Keywords that the top of a tool's schema may not have. Choices there become one object. */
  notAtTop: readonly string[];
  /** Schemas must be of draft 2020-12. */
  isDraft2020: boolean;
  /** Names of the properties at the top of a tool's schema. */
  propertyName: RegExp;
  /** Keywords that a schema which is enforced may not have: they are said in its description. Empty: none is enforced. */
  notEnforced: readonly string[];
  /** Formats of texts that such a schema may have. */
  formats: readonly string[];
  /**
   * Which references of an enforced schema may lead back to it: any, those within optional properties, or none. Another
   * schema is not enforced: the model reads it in the system prompt, and a strict tool is not strict.
   */
  recursion: 'any' | 'optional' | 'none';
  /** Strict tools of a request. */
  strictToolsMax: number;
  /** Media types of images within the request. */
  images: readonly string[];
}

const WEB_IMAGES = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

// platform.claude.com, "Structured outputs", "JSON Schema limitations"; the same words for Converse at docs.aws.amazon.com,
// "Get validated JSON results from models". Refusals: "For 'integer' type, properties maximum, minimum are not supported".
const CLAUDE_NOT_ENFORCED = [
  ...['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum', 'multipleOf'],
  ...['minLength', 'maxLength', 'minItems', 'maxItems', 'uniqueItems', 'contains', 'prefixItems'],
  ...['minProperties', 'maxProperties', 'patternProperties', 'propertyNames', 'dependentRequired', 'dependentSchemas'],
  ...['not', 'if', 'then', 'else'],
];
// The same pages: no recursive schemas, no external `$ref`, no `allOf` with `$ref`. "Circular reference detected in schema
// definitions" (https://github.com/egonSchiele/agency-lang/issues/487, July 2026).
const CLAUDE_FORMATS = ['date-time', 'time', 'date', 'duration', 'email', 'hostname', 'uri', 'ipv4', 'ipv6', 'uuid'];
/** "input_schema does not support oneOf, allOf, or anyOf at the top level". A reference there is a choice of one. */
const CHOICES = ['oneOf', 'allOf', 'anyOf', '$ref'];
const ANY_NAME = /^/;

const CLAUDE: RequestRules = {
  toolName: { form: /^[\w-]{1,128}$/, prefix: '' },
  notAtTop: CHOICES,
  isDraft2020: true, // "JSON schema is invalid. It must match JSON Schema draft 2020-12"
  propertyName: /^[\w.-]{1,64}$/, // "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'"
  notEnforced: CLAUDE_NOT_ENFORCED,
  formats: CLAUDE_FORMATS,
  recursion: 'none',
  strictToolsMax: 20,
  images: WEB_IMAGES,
};

export const REQUEST_RULES = {
  anthropic: CLAUDE,
  /** Converse: as for Claude, but for the length of names. */
  bedrock: { ...CLAUDE, toolName: { form: /^[\w-]{1,64}$/, prefix: '' } },
  // platform.openai.com, "Function calling". "schema must have type 'object' and not have
  // 'oneOf'/'anyOf'/'allOf'/'enum'/'const'/'not' at the top level". A schema that cannot be strict is sent as not strict.
  openai: {
    toolName: { form: /^[\w-]{1,64}$/, prefix: '' },
    notAtTop: [...CHOICES, 'enum', 'const', 'not'],
    isDraft2020: false,
    propertyName: ANY_NAME,
    notEnforced: [],
    formats: [],
    recursion: 'any', // "Structured model outputs", "Recursive schemas are supported"
    strictToolsMax: Number.POSITIVE_INFINITY,
    images: WEB_IMAGES,
  },
  // ai.google.dev, "Function calling" and "Image understanding". Its schemas are another subset, see gemini/clean-schema.ts.
  gemini: {
    toolName: { form: /^[A-Za-z_][\w-]{0,63}$/, prefix: '_' },
    notAtTop: CHOICES,
    isDraft2020: false,
    propertyName: ANY_NAME,
    notEnforced: [],
    formats: [],
    // ai.google.dev/api/generate-content, responseJsonSchema: "Cyclic references are unrolled to a limited degree and, as
    // such, may only be used within non-required properties."
    recursion: 'optional',
    strictToolsMax: 0,
    images: ['image/png', 'image/jpeg', 'image/webp', 'image/heic', 'image/heif'],
  },
} as const satisfies Record<string, RequestRules>;
