// Pages for people without a session, each of them off by default. They tell nothing of accounts, are the same for everyone, and may be
// kept by caches. What it costs to read them is bounded for a network and, by what is remembered, for a node.

import { z } from '@hono/zod-openapi';
import { termsOf } from '../catalog/catalog.ts';
import { bounds } from '../config/config.ts';
import { TurnpikeError } from '../errors.ts';
import { type AdminRoute, type Call, get } from './route.ts';

export const termsTextSchema = z.object({
  version: z.string().nullable().describe('The version that people must agree to; null: nobody has to agree.'),
  terms_of_service: z.string().nullable().describe('A text in Markdown, or an https:// URL; null: there are none.'),
  privacy_policy: z.string().nullable().describe('As `terms_of_service`.'),
});

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
];
