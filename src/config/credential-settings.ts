// Limits of what `auth` reads on this host, and addresses of secret managers, as config.ts reads them from the environment.

/** HashiCorp Vault, by the variables of its own tools; null without VAULT_ADDR. */
interface VaultAccess {
  address: string;
  token: string | null;
  tokenFile: string | null;
  namespace: string | null;
  /** The role for Kubernetes auth, which needs no token. */
  role: string | null;
}

export interface CredentialSettings {
  /** Files are read only below these directories. */
  directories: readonly string[];
  /** Below which no file is read: it has the service's own secrets. */
  dataDirectory: string;
  /** Files that prove the identity of this service; no credential is read from them. */
  identityFiles: readonly string[];
  /** The file that proves to Kubernetes, and to Vault, which service this is. */
  serviceAccountTokenFile: string;
  /** A variable that `auth` may read; undefined when it is not set. */
  readVariable(name: string): string | undefined;
  /** Whether `auth` may read the variable. */
  isReadable(name: string): boolean;
  awsRegion: string | null;
  /** AWS_ENDPOINT_URL_SECRETS_MANAGER, for example of a VPC endpoint. */
  secretsManagerUrl: string | null;
  /** AZURE_AUTHORITY_HOST of a sovereign or private cloud. */
  azureAuthorityHost: string | null;
  /** Whether the environment configures these identities of Azure; the library fails without their variables. */
  hasAzureSecret: boolean;
  hasAzureWorkload: boolean;
  vault: VaultAccess | null;
}

const DIRECTORIES_NAME = 'TURNPIKE_CREDENTIAL_DIRECTORIES';
const VARIABLES_NAME = 'TURNPIKE_CREDENTIAL_VARIABLES';
const DEFAULT_DIRECTORIES = '/run/secrets:/var/run/secrets';
const DEFAULT_VARIABLES = '*_API_KEY';
const SERVICE_ACCOUNT_TOKEN = '/var/run/secrets/kubernetes.io/serviceaccount/token';

/** Secrets of the service itself and of its identities, whatever the patterns are. */
const NEVER =
  /^(?:TURNPIKE_|OTEL_|PG|STRIPE_|AWS_(?:SECRET_ACCESS_KEY|SESSION_TOKEN|CONTAINER_AUTHORIZATION_TOKEN)|AZURE_CLIENT_|IDENTITY_HEADER|MSI_SECRET|VAULT_TOKEN)/i;

const IDENTITY_FILES = [
  'AWS_CONFIG_FILE',
  'AWS_SHARED_CREDENTIALS_FILE',
  'AWS_WEB_IDENTITY_TOKEN_FILE',
  'AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE',
  'AZURE_CLIENT_CERTIFICATE_PATH',
  'AZURE_FEDERATED_TOKEN_FILE',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'VAULT_TOKEN_FILE',
];

type Environment = Record<string, string | undefined>;

export function readCredentialSettings(
  environment: Environment,
  dataDirectory: string,
  faults: string[],
): CredentialSettings {
  const read = (name: string) => environment[name] || null;
  const isReadable = readPatterns(read(VARIABLES_NAME) ?? DEFAULT_VARIABLES, faults);
  const [tokenFile, address] = [read('VAULT_TOKEN_FILE'), read('VAULT_ADDR')];
  const [token, namespace, role] = [read('VAULT_TOKEN'), read('VAULT_NAMESPACE'), read('VAULT_ROLE')];
  return Object.freeze({
    directories: readDirectories(read(DIRECTORIES_NAME) ?? DEFAULT_DIRECTORIES, faults),
    dataDirectory,
    identityFiles: IDENTITY_FILES.flatMap((name) => read(name) ?? []),
    serviceAccountTokenFile: SERVICE_ACCOUNT_TOKEN,
    isReadable,
    readVariable: (name: string) => (isReadable(name) ? environment[name] : undefined),
    awsRegion: read('AWS_REGION') ?? read('AWS_DEFAULT_REGION'),
    secretsManagerUrl: read('AWS_ENDPOINT_URL_SECRETS_MANAGER') ?? read('AWS_ENDPOINT_URL'),
    azureAuthorityHost: read('AZURE_AUTHORITY_HOST'),
    hasAzureSecret: ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID'].every(read) && hasAzureProof(read),
    hasAzureWorkload: ['AZURE_TENANT_ID', 'AZURE_CLIENT_ID', 'AZURE_FEDERATED_TOKEN_FILE'].every(read),
    vault: address === null ? null : { address, token, tokenFile, namespace, role },
  });
}

function hasAzureProof(read: (name: string) => string | null): boolean {
  return ['AZURE_CLIENT_SECRET', 'AZURE_CLIENT_CERTIFICATE_PATH'].some(read);
}

function readDirectories(text: string, faults: string[]): string[] {
  const directories = text.split(':').filter((part) => part !== '');
  for (const directory of directories)
    if (!/^\/+[^/]/.test(directory))
      faults.push(`${DIRECTORIES_NAME}: "${directory}" is not the absolute path of a directory below "/"`);
  return directories;
}

/** Whether a variable may be read: by patterns in which "*" matches any characters. */
function readPatterns(text: string, faults: string[]): (name: string) => boolean {
  const patterns = text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
  for (const pattern of patterns)
    if (!/^[\w*]+$/.test(pattern))
      faults.push(`${VARIABLES_NAME}: "${pattern}" is not the name of a variable, nor a pattern such as "*_API_KEY"`);
  const matchers = patterns
    .filter((pattern) => /^[\w*]+$/.test(pattern))
    .map((pattern) => new RegExp(`^${pattern.replaceAll(/\*+/g, '.*')}$`));
  return (name) => !NEVER.test(name) && matchers.some((matcher) => matcher.test(name));
}
