// Shows a request as code to copy: exactly this one.

import { Button, type ButtonProps, Modal, Stack, Tabs, Text } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useBaseUrl } from '../../base-url.ts';
import { CodeBlock } from '../../parts/code-block.tsx';
import { curlOf, pythonOf, typescriptOf } from '../../snippets.ts';
import { words } from '../../words.ts';

const CODE_HEIGHT_MAX_PX = 480;

interface CodeButtonProps extends ButtonProps {
  body: Readonly<Record<string, unknown>>;
}

export function CodeButton({ body, ...button }: CodeButtonProps) {
  const [isOpen, dialogue] = useDisclosure(false);
  return (
    <>
      <Button variant="default" {...button} onClick={dialogue.open}>
        {words.playground.code}
      </Button>
      <Modal
        opened={isOpen}
        onClose={dialogue.close}
        title={words.playground.codeTitle}
        size="xl"
        closeButtonProps={{ 'aria-label': words.parts.close }}
      >
        <Stack gap="sm">
          <Text size="sm" c="dimmed">
            {words.playground.codeText}
          </Text>
          <Code body={body} />
        </Stack>
      </Modal>
    </>
  );
}

function Code({ body }: CodeButtonProps) {
  const request = { baseUrl: useBaseUrl(), key: null, body };
  const codes = { curl: curlOf(request), TypeScript: typescriptOf(request), Python: pythonOf(request) };
  return (
    <Tabs defaultValue="curl">
      <Tabs.List mb="sm">
        {Object.keys(codes).map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(codes).map(([name, code]) => (
        <Tabs.Panel key={name} value={name}>
          <CodeBlock code={code} heightMaxPx={CODE_HEIGHT_MAX_PX} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
