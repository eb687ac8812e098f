// Tests of the services that an installation is connected to: each calls one once, and returns the reason if it does not work.

import { readFile } from 'node:fs/promises';
import type { Integrations } from '../admin-api/admin-api.ts';
import { newRequestId } from '../base/ids.ts';
import { type CatalogHolder, installationOf } from '../catalog/catalog.ts';
import { bounds, type Config, type IntegrationId, type MailSettings, placesOf } from '../config/config.ts';
import { callAddress, makeMailSender, readStart } from '../delivery/delivery.ts';
import { testTarget } from '../exports/exports.ts';
import { describeFailure } from '../observability/observability.ts';
import { objectOf, textOf } from '../wire/wire.ts';
import { lookupHost } from './compose.ts';
import type { Observers } from './observe.ts';
import type { Payments } from './open-payments.ts';
import type { OpenStore } from './open-store.ts';

interface IntegrationParts {
  config: Config;
  store: OpenStore;
  holder: Pick<CatalogHolder, 'current'>;
  observers: Observers;
  readMail: (() => MailSettings) | null;
  payments: Payments | null;
}

type Test = (parts: IntegrationParts, to: string | null) => Promise<string | null>;

export function makeIntegrations(parts: IntegrationParts): Integrations {
  const { config, store } = parts;
  return {
    async places() {
      const targets = (await store.stores.exports.listSealedExports()).flatMap(({ target }) =>
        target.kind === 's3' ? [`${target.endpoint} (${target.bucket})`] : [],
      );
      return { ...placesOf(config), storage: targets.length === 0 ? null : [...new Set(targets)].join(', ') };
    },
    async test(id, to) {
      const late = Promise.withResolvers<string>();
      const timer = setTimeout(() => late.resolve('it did not answer in time'), bounds.integrationTestMsMax);
      try {
        const failure = await Promise.race([tests[id](parts, to), late.promise]);
        return failure === null ? null : inOneLine(failure);
      } catch (thrown) {
        return inOneLine(describeFailure(thrown));
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

function inOneLine(text: string): string {
  return text.replaceAll(/[\p{C}\s]+/gu, ' ').slice(0, bounds.deliveryExcerptCharactersMax);
}

const tests: Readonly<Record<IntegrationId, Test>> = {
  async mail({ readMail, holder, store }, to) {
    if (readMail === null || to === null) return 'no SMTP server is set';
    const { name } = installationOf(holder.current.settings);
    const text = `This mail was sent to test the connection of ${name} to its mail server. Nothing needs to be done.`;
    const sender = makeMailSender(readMail);
    try {
      const id = newRequestId(store.clock.nowMs());
      const about = { subject: `Test mail of ${name}`, text, html: `<p>${Bun.escapeHTML(text)}</p>` };
      const outcome = await sender.send({ id, fromName: name, to, ...about, unsubscribeUrl: null });
      return outcome.isSent ? null : outcome.cause;
    } finally {
      sender.close();
    }
  },

  async payments({ payments, store }) {
    if (payments === null) return 'payments are not set';
    const untilMs = store.clock.nowMs();
    try {
      for await (const _ of payments.dependencies.provider.listPayments({ sinceMs: untilMs - 60_000, untilMs })) break;
      return null;
    } catch (failure) {
      return failure instanceof Error && typeof failure.cause === 'string' ? failure.cause : describeFailure(failure);
    }
  },

  async sign_in({ config }) {
    const ca = config.issuerCaFile === null ? {} : { ca: await readFile(config.issuerCaFile, 'utf8') };
    for (const { issuer } of config.issuers) {
      const failure = await testIssuer(issuer, ca);
      if (failure !== null) return `${issuer}: ${failure}`;
    }
    return null;
  },

  telemetry: async ({ observers }) => (await observers.telemetry?.test()) ?? null,

  async storage({ store, holder }) {
    const { stores, vault, clock } = store;
    const privateNetwork = () => holder.current.settings.webhookPrivateNetwork;
    const schedules = await stores.exports.listSealedExports();
    for (const schedule of schedules.slice(0, bounds.integrationTargetsMax)) {
      const failure = await testTarget({ vault, clock, lookup: lookupHost, privateNetwork }, schedule);
      if (failure !== null) return `export "${schedule.name}": ${failure}`;
    }
    return null;
  },
};

/** Reads the discovery document (https://openid.net/specs/openid-connect-discovery-1_0.html#ProviderConfig). */
async function testIssuer(issuer: string, ca: { ca?: string }): Promise<string | null> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const headers = { accept: 'application/json' };
  const http = { lookup: lookupHost, isPrivateAllowed: true, ...ca };
  const signal = AbortSignal.timeout(bounds.integrationTestMsMax);
  const called = await callAddress({ method: 'GET', url, headers, body: null }, http, signal);
  if ('error' in called) return called.error;
  const { response } = called;
  const text = await readStart(response, bounds.integrationAnswerBytesMax);
  if (!response.ok) return `the discovery document is answered with ${response.status}`;
  const document = parsed(text);
  if (document === null) return 'the discovery document is not JSON';
  if (textOf(document['issuer']).replace(/\/$/, '') !== issuer.replace(/\/$/, ''))
    return 'the discovery document is that of another issuer';
  const missing = ['authorization_endpoint', 'token_endpoint', 'jwks_uri'].filter(
    (name) => !URL.canParse(textOf(document[name])),
  );
  return missing.length === 0 ? null : `the discovery document has no ${missing.join(', ')}`;
}

function parsed(text: string) {
  try {
    return objectOf(JSON.parse(text));
  } catch {
    return null;
  }
}
