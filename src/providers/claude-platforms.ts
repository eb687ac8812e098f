// Claude at clouds: what each platform takes of the Messages protocol, and the body in its form.

import { convertMessageBody } from './anthropic/convert-request.ts';
import type { Attempt } from './provider.ts';

export type ClaudePlatform = 'bedrock' | 'vertex' | 'foundry';

/** The body of a message for the platform, without the members that its address has. Throws ProviderFault (rejected). */
export function convertPlatformBody(attempt: Attempt, platform: ClaudePlatform): string {
  if (platform === 'foundry') return convertMessageBody(attempt);
  const anthropic_version = platform === 'bedrock' ? 'bedrock-2023-05-31' : 'vertex-2023-10-16';
  return convertMessageBody(attempt, {
    model: undefined,
    anthropic_version,
    ...(platform === 'bedrock' && { stream: undefined }),
  });
}
