// Secrets: values that cannot be printed by accident, hashes of API keys, and sealed credentials.

export {
  type FoundSecret,
  findInstallationSecrets,
  hashSecret,
  InstallationSecretMissing,
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

/** A text that is hidden in logs, JSON and string templates. Search for `reveal` to find every use in clear text. */
export class Secret {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  reveal(): string {
    return this.#text;
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
