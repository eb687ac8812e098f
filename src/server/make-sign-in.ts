// Sign-in over the parts of this process: its thread, who is let in by it, and what the log says of that.

import type { SessionFinder, SignIn } from '../admin-api/admin-api.ts';
import { formatId } from '../base/ids.ts';
import type { Config } from '../config.ts';
import { adminLine, describeFailure } from '../observability/observability.ts';
import {
  type Admission,
  type ConsoleAnswered,
  type ConsoleAuth,
  hasSessionCookie,
  makeConsoleAuth,
  type Refusal,
  type SignInSettings,
  SignInThread,
} from '../sign-in/sign-in.ts';
import { signInPath } from '../storage/sqlite/sqlite.ts';
import { workerScript } from '../worker-scripts.ts';
import type { Observers } from './observe.ts';
import type { OpenStore } from './open-store.ts';
import type { Closing } from './server.ts';

export interface SignInParts {
  config: Config;
  store: OpenStore;
  /** Of sign-in, see sign-in-secret.ts. */
  secret: string;
  observers: Observers;
  /** The issuer vouches for whom there is an invitation for: it is accepted. */
  acceptVouched(email: string, address: string): Promise<void>;
}

export interface MadeSignIn {
  signIn: SignIn;
  sessions: SessionFinder;
  auth: ConsoleAuth;
}

/** Nothing is begun before somebody signs in. */
export function makeSignIn(parts: SignInParts, closing: Closing): MadeSignIn {
  const { config, store, observers } = parts;
  const { people } = store.stores;
  const { log, clock } = observers;
  const thread = new SignInThread({
    script: workerScript('sign-in-worker'),
    settings: settingsOf(parts),
    admit: (admission) => admit(parts, admission),
    tell: (event, cause) => log.write({ at: new Date().toISOString(), event, cause }),
  });
  closing.push(() => thread.close());
  const auth = makeConsoleAuth({
    thread,
    publicOrigin: config.publicUrl,
    hasOidc: config.oidc !== null,
    isEnabled: async (email) => (await people.findPersonByEmail(email))?.status === 'enabled',
    nowMs: () => clock.nowMs(),
    answered: (answered) => tellAnswered(observers, answered),
  });
  return {
    auth,
    signIn: {
      oidcName: config.oidc?.name ?? null,
      setPassword: (person) => thread.ask({ kind: 'set-password', person }),
      endSessions: (email) => thread.ask({ kind: 'end-sessions', email }),
      forgetPassword: (email) => thread.ask({ kind: 'forget-password', email }),
    },
    sessions: {
      publicOrigin: config.publicUrl,
      hasCookie: hasSessionCookie,
      find: auth.findSession,
    },
  };
}

function settingsOf({ config, secret }: SignInParts): SignInSettings {
  const { databaseUrl, dataDirectory, publicUrl, oidc } = config;
  const store = databaseUrl === null ? { path: signInPath(dataDirectory) } : { url: databaseUrl };
  return { store, secret, publicUrl, oidc };
}

async function admit({ store, observers, acceptVouched }: SignInParts, admission: Admission): Promise<Refusal> {
  const { email, by, address, isFinal } = admission;
  const person = await store.stores.people.findPersonByEmail(email);
  if (person === null) return 'person_unknown';
  const isVouched = by === 'single-sign-on' && person.status === 'invited';
  if (person.status !== 'enabled' && !isVouched)
    return person.status === 'disabled' ? 'person_disabled' : 'person_unknown';
  if (!isFinal) return null;
  if (isVouched) await acceptVouched(email, address);
  const at = new Date(observers.clock.nowMs()).toISOString();
  observers.log.write({ at, event: 'signed_in', actor: formatId('person', person.id), address, by });
  return null;
}

/** Of a sign-in that failed the log has the address: what was typed may be a password in the wrong place. */
function tellAnswered({ log, clock }: Observers, answered: ConsoleAnswered): void {
  if (!log.isOn) return;
  const { isFailedProof, failure, ...line } = answered;
  const { requestId: request_id, code, address } = answered;
  const at = new Date(clock.nowMs()).toISOString();
  log.write(adminLine({ ...line, actor: null }, clock.nowMs()));
  if (isFailedProof) log.write({ at, event: 'sign_in_failed', request_id, code, address });
  if (failure !== null && answered.status >= 500)
    log.write({ at, event: 'sign_in_failure', request_id, cause: describeFailure(failure) });
}
