// Secrets: values that cannot be printed by accident, hashes of API keys, and sealed credentials.

export {
  type FormerHashKey,
  findInstallationSecrets,
  hashSecret,
  type InstallationStore,
  isUnderPreviousSecret,
  loadInstallationSecrets,
  openSecretHashes,
  previousSecretPath,
  removePreviousSecretFile,
  rotateSecretFiles,
  SECRET_PROOF,
  type SecretHashes,
  type SecretSettings,
  secretPath,
} from './installation-secret.ts';
export { openVault, SealBroken, type Vault } from './vault.ts';

const HIDDEN = '[secret]';

/** `key`: in the provider's own header. `bearer`: as a token in `authorization`. `aws`: signs requests; JSON of `AwsKeys`. */
export type SecretUse = 'key' | 'bearer' | 'aws';

export interface AwsKeys {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string;
}

/** A text that is hidden in logs, JSON and string templates. Search for `reveal` to find every use in clear text. */
export class Secret {
  readonly #text: string;
  #parts: readonly string[] | null = null;
  constructor(text: string) {
    this.#text = text;
  }
  reveal(): string {
    return this.#text;
  }
  /** How a provider gets it. */
  get use(): SecretUse {
    return 'key';
  }
  /** null: it can be revealed. Otherwise wait; rejects with an Error for the operator. */
  ready(): Promise<void> | null {
    return null;
  }
  /** Why the last reading failed, for the operator; null: it succeeded, or there is nothing to read. */
  get failure(): string | null {
    return null;
  }
  /** A provider refused it: one that is refreshed is read again soon. */
  onRefused(): void {}
  /** Reads it anew, for a test; null if it never changes. Rejects with an Error for the operator. */
  reread(): Promise<void> | null {
    return null;
  }
  /** Equal until another credential takes its place: a refreshed token of the same identity does not count as another. */
  identity(): unknown {
    return this.#text;
  }
  /** Every text that must not be shown; the same array until one of them changes. */
  parts(): readonly string[] {
    this.#parts ??= [this.#text];
    return this.#parts;
  }
  toString(): string {
    return HIDDEN;
  }
  toJSON(): string {
    return HIDDEN;
  }
  [Symbol.for('nodejs.util.inspect.custom')](): string {
    return HIDDEN;
  }
}
