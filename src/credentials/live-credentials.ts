// The live credentials of a node.

import type { Auth, AuthHolder, Auths } from '../catalog/catalog.ts';
import type { CredentialSettings } from '../config/config.ts';
import type { Secret } from '../secrets/secrets.ts';
import { LiveSecret, type Timer } from './live-secret.ts';
import { loaderOf } from './loaders.ts';

/** A credential cannot be read (`failure` says why), or can be read again (null). */
export interface CredentialState extends Pick<AuthHolder, 'provider' | 'credential'> {
  type: Auth['type'];
  failure: string | null;
}

export interface LiveCredentialsOptions {
  settings: CredentialSettings;
  nowMs(): number;
  /** Called at each change between the two. */
  onState(state: CredentialState): void;
}

/** All live credentials of a node. */
export class LiveCredentials implements Auths {
  readonly #options: LiveCredentialsOptions;
  readonly #timer: Timer;
  readonly #secrets = new Map<string, LiveSecret>();
  readonly #stopped = new AbortController();

  constructor(options: LiveCredentialsOptions) {
    this.#options = options;
    this.#timer = { nowMs: options.nowMs, after };
  }

  open(auth: Auth, text: string | null, holder: AuthHolder): Secret {
    const name = JSON.stringify([holder, auth, text]);
    const known = this.#secrets.get(name);
    if (known !== undefined) return known;
    const { settings, onState } = this.#options;
    const { provider, credential } = holder;
    const secret = new LiveSecret({
      load: loaderOf(auth, text, { holder, settings, nowMs: this.#options.nowMs }),
      timer: this.#timer,
      stopped: this.#stopped.signal,
      onState: (failure) => onState({ provider, credential, type: auth.type, failure }),
    });
    this.#secrets.set(name, secret);
    return secret;
  }

  keepOnly(secrets: ReadonlySet<Secret>): void {
    for (const [name, secret] of this.#secrets) {
      if (secrets.has(secret)) continue;
      secret.close();
      this.#secrets.delete(name);
    }
  }

  close(): void {
    this.#stopped.abort();
    this.keepOnly(new Set());
  }
}

function after(ms: number, call: () => void): () => void {
  const timer = setTimeout(call, ms);
  timer.unref();
  return () => clearTimeout(timer);
}
