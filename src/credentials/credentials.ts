// Credentials that change while the service runs: references to files and secret managers, and identities at clouds. Their
// libraries are loaded when the first such credential is configured.

import type { Auth, Auths } from '../catalog/catalog.ts';
import type { Secret } from '../secrets/secrets.ts';
import { LiveSecret } from './live-secret.ts';
import { loaderOf } from './loaders.ts';

/** All live credentials of a node. */
export class LiveCredentials implements Auths {
  readonly #nowMs: () => number;
  readonly #secrets = new Map<string, LiveSecret>();

  constructor(nowMs: () => number = Date.now) {
    this.#nowMs = nowMs;
  }

  open(auth: Auth, text: string | null, kind: string): Secret {
    const name = JSON.stringify([auth, text, kind]);
    const known = this.#secrets.get(name);
    if (known !== undefined) return known;
    const secret = new LiveSecret(loaderOf(auth, text, kind), this.#nowMs);
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
    this.keepOnly(new Set());
  }
}
