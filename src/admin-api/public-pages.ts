// Pages for people without a session, each of them off by default. They tell nothing of accounts, are the same for everyone, and may be
// kept by caches. What it costs to read them is bounded for a network and, by what is remembered, for a node.

import { z } from '@hono/zod-openapi';
import { DAY_MS } from '../base/clock.ts';
import { type Catalog, landingOf, listOffers, multipliedPrice, type Offer, termsOf } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import type { Incident } from '../incidents/incidents.ts';
import { priceOf, priceSchema, servesShown } from './catalog.ts';
import { encoderOf } from './encode.ts';
import { countShown, timeShown } from './fields.ts';
import { type AdminRoute, type Call, get } from './route.ts';

export const termsTextSchema = z.object({
  version: z.string().nullable().describe('The version that people must agree to; null: nobody has to agree.'),
  terms_of_service: z.string().nullable().describe('A text in Markdown, or an https:// URL; null: there are none.'),
  privacy_policy: z.string().nullable().describe('As `terms_of_service`.'),
});

export const landingSchema = z.object({
  title: z.string(),
  text: z.string().nullable().describe('In Markdown; null: there is none.'),
  links: z.array(z.object({ label: z.string(), url: z.string() })),
});

export const publicModelSchema = z.object({
  name: z.string(),
  display_name: z.string(),
  serves: servesShown,
  price: priceSchema.describe('The price in force, which new accounts pay: USD per million tokens.'),
  max_input_tokens: countShown.nullable(),
  max_output_tokens: countShown.nullable(),
});
export const publicModelsSchema = z.object({ data: z.array(publicModelSchema).describe('By name.') });

export const publicIncidentSchema = z.object({
  model: z.string(),
  display_name: z.string(),
  began_at: timeShown,
  ended_at: timeShown.nullable().describe('null: the model is failing.'),
});
export const publicStatusSchema = z.object({
  data: z.array(publicIncidentSchema).describe('Open ones, then ended ones of the last 90 days, the latest first.'),
});

const encodeModel = encoderOf(publicModelSchema);
const encodeIncident = encoderOf(publicIncidentSchema);

/** No account has this number: the offers are those over credentials that all accounts may use. */
const NO_ACCOUNT = 0;
const offersOf = new WeakMap<Catalog, readonly Offer[]>();
const modelsOf = new WeakMap<Catalog, z.infer<typeof publicModelsSchema>>();

/** Worked out once for each catalog. */
function publicOffers(catalog: Catalog): readonly Offer[] {
  let offers = offersOf.get(catalog);
  if (offers === undefined) {
    const { publicGroup } = catalog.settings;
    offers = listOffers(catalog, { account: NO_ACCOUNT, keyModels: null, groups: [publicGroup] });
    offersOf.set(catalog, offers);
  }
  return offers;
}

function publicModels(catalog: Catalog): z.infer<typeof publicModelsSchema> {
  let shown = modelsOf.get(catalog);
  if (shown === undefined) {
    const offers = publicOffers(catalog).toSorted((one, other) => (one.model.name < other.model.name ? -1 : 1));
    shown = {
      data: offers.map(({ model, group }) =>
        encodeModel({ ...model, price: priceOf(multipliedPrice(model.price, group.multiplierMillionths)) }),
      ),
    };
    modelsOf.set(catalog, shown);
  }
  return shown;
}

/** Incidents of models as all requests of some seconds see them. */
interface Remembered {
  atMs: number;
  incidents: Promise<Incident[]>;
}

const remembered = new WeakMap<Call['incidents'], Remembered>();

/** One read of the store for all requests of `publicStatusKeptMs`, also while it fails. */
function recentIncidents({ incidents, clock }: Call): Promise<Incident[]> {
  const nowMs = clock.nowMs();
  const last = remembered.get(incidents);
  if (last !== undefined && nowMs - last.atMs < bounds.publicStatusKeptMs) return last.incidents;
  const read = async () => {
    const open = (await incidents.listOpenIncidents()).filter(({ facts: { kind } }) => kind === 'model_failing');
    const sinceMs = nowMs - bounds.publicStatusDays * DAY_MS;
    return [
      ...open.reverse(),
      ...(await incidents.listEndedIncidents(sinceMs, bounds.incidentsEndedShown, 'model_failing')),
    ];
  };
  const next = { atMs: nowMs, incidents: read() };
  remembered.set(incidents, next);
  return next.incidents;
}

async function publicStatus(call: Call): Promise<z.infer<typeof publicStatusSchema>> {
  const names = new Map(publicOffers(call.catalog.current()).map(({ model }) => [model.name, model.displayName]));
  const data = (await recentIncidents(call)).flatMap(({ facts: { model }, beganAtMs, endedAtMs }) => {
    const displayName = model === null ? undefined : names.get(model);
    return model === null || displayName === undefined
      ? []
      : [encodeIncident({ model, displayName, beganAtMs, endedAtMs })];
  });
  return { data };
}

/** A page of everyone. `read` returns null while it is off. */
function page<Answer extends z.ZodType>(
  path: string,
  operationId: string,
  summary: string,
  answer: readonly [Answer, string],
  read: (call: Call) => z.infer<Answer> | null | Promise<z.infer<Answer> | null>,
): AdminRoute {
  return get(path, operationId, summary, 'anyone', {
    isLimited: true,
    notFound: 'The operator has not made this page public',
    answer,
    async handle(call) {
      const { publicReads, clock, context } = call;
      const refusal = publicReads.count(context.env.address, clock.nowMs());
      if (refusal !== null) throw refusal;
      const shown = await read(call);
      if (shown === null) throw new TurnpikeError('object_not_found', 'This page is not public.');
      context.header('cache-control', `public, max-age=${bounds.publicPageSecondsMax}`);
      return shown;
    },
  });
}

export const publicPageRoutes: AdminRoute[] = [
  page('/public/terms', 'terms-show', 'Retrieve the terms', [termsTextSchema, 'The terms'], ({ catalog }) => {
    const terms = termsOf(catalog.current().settings);
    if (terms === null) return null;
    const { version, termsOfService, privacyPolicy } = terms;
    return { version, terms_of_service: termsOfService, privacy_policy: privacyPolicy };
  }),
  page('/public/landing', 'landing-show', 'Retrieve the landing page', [landingSchema, 'The page'], ({ catalog }) => {
    const landing = landingOf(catalog.current().settings);
    return landing && { ...landing, links: [...landing.links] };
  }),
  page(
    '/public/models',
    'publicmodels-show',
    'Retrieve models and prices for everyone',
    [publicModelsSchema, 'The models of the public group'],
    ({ catalog }) => (catalog.current().settings.publicModels === 'on' ? publicModels(catalog.current()) : null),
  ),
  page(
    '/public/status',
    'publicstatus-show',
    'Retrieve the status of models for everyone',
    [publicStatusSchema, 'Which models of the public group fail or failed'],
    (call) => (call.catalog.current().settings.publicStatus === 'on' ? publicStatus(call) : null),
  ),
];
