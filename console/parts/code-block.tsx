// Code to read and to copy.

import { Box, Code } from '@mantine/core';
import { CopyButton } from './copy-button.tsx';

export function CodeBlock({ code, label, heightMaxPx }: { code: string; label?: string; heightMaxPx?: number }) {
  return (
    <Box pos="relative">
      <Box pos="absolute" top={6} right={6} className="no-print">
        <CopyButton text={code} {...(label !== undefined && { label })} />
      </Box>
      <Code
        block
        tabIndex={0}
        pt={44}
        style={{ overflow: 'auto', ...(heightMaxPx !== undefined && { maxHeight: heightMaxPx }) }}
      >
        {code}
      </Code>
    </Box>
  );
}
