// Settings of the environment that are references to their text. They are read before the configuration is checked; some
// are read again while the service runs.

import { type Auth, type AuthHolder, authInput } from '../catalog/catalog.ts';
import { bounds, type Config, type ReferringEnvironment, readCredentialSettings } from '../config/config.ts';
import { Secret } from '../secrets/secrets.ts';
import { LiveCredentials, type LiveCredentialsOptions } from './live-credentials.ts';

/** With the texts in place of the references; a setting that cannot be read is missing. */
interface ReadEnvironment extends ReferringEnvironment {
  /** One for each setting that cannot be read, with its name. */
  faults: readonly string[];
}

/** Reads the settings that are references. Never rejects. */
export async function readReferences(
  { environment, references }: ReferringEnvironment,
  dataDirectory: string,
): Promise<ReadEnvironment> {
  const settings = readCredentialSettings(environment, dataDirectory, []);
  const credentials = new LiveCredentials({ settings, nowMs: Date.now, onState: () => undefined });
  const faults: string[] = [];
  const read = async ([name, reference]: [string, string]) => {
    try {
      const secret = credentials.open(parseReference(reference), null, holderOf(name));
      await secret.ready();
      return [name, secret.reveal()] as const;
    } catch (thrown) {
      faults.push(`${name}: its reference cannot be read: ${(thrown as Error).message}`);
      return [name, undefined] as const;
    }
  };
  const texts = await Promise.all(Object.entries(references).map(read));
  credentials.close();
  return { environment: { ...environment, ...Object.fromEntries(texts) }, references, faults };
}

/** The secrets of settings that may change while the service runs. */
export class SettingSecrets {
  readonly #references: Config['references'];
  readonly #credentials: LiveCredentials;

  constructor({ references, credentials: settings }: Config, options: Omit<LiveCredentialsOptions, 'settings'>) {
    this.#references = references;
    this.#credentials = new LiveCredentials({ ...options, settings });
  }

  /** The secret of the setting, ready; `text` is what it was at the start. It is read again if the setting is a reference. */
  async open(name: string, text: string): Promise<Secret> {
    const reference = this.#references[name];
    if (reference === undefined) return new Secret(text);
    const secret = this.#credentials.open(parseReference(reference), null, holderOf(name));
    await secret.ready();
    return secret;
  }

  close(): void {
    this.#credentials.close();
  }
}

function holderOf(setting: string): AuthHolder {
  return { provider: setting, credential: '', kind: 'setting', region: null, baseUrl: '' };
}

const TYPES: readonly string[] = [
  'file',
  'aws_secret',
  'google_secret',
  'azure_secret',
  'vault',
] satisfies Auth['type'][];

/** Throws an Error that repeats nothing of the text, which may be a secret. */
function parseReference(text: string): Auth {
  const { data, error } = authInput.safeParse(parseJson(text));
  const issue = error?.issues[0];
  if (issue !== undefined)
    throw new Error(`${issue.path.join('.')} ${issue.message}`.trim().slice(0, bounds.credentialCauseCharactersMax));
  if (data !== undefined && TYPES.includes(data.type)) return data;
  throw new Error(`type must be one of ${TYPES.join(', ')}`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new Error('it begins with "{", but is not JSON');
  }
}
