// A request as code in several languages, each to copy.

import { Tabs } from '@mantine/core';
import { openaiPythonOf, openaiTypescriptOf } from '../openai-snippets.ts';
import { claudeCodeOf, curlOf, pythonOf, type SnippetOf, typescriptOf } from '../snippets.ts';
import { CodeBlock } from './code-block.tsx';

interface SnippetTabsProps {
  request: SnippetOf;
  heightMaxPx?: number;
  onCopied?: () => void;
}

export function SnippetTabs({ request, ...block }: SnippetTabsProps) {
  const snippets = {
    curl: curlOf(request),
    'OpenAI Python': openaiPythonOf(request),
    'OpenAI TypeScript': openaiTypescriptOf(request),
    'Anthropic Python': pythonOf(request),
    'Anthropic TypeScript': typescriptOf(request),
    'Claude Code': claudeCodeOf({ ...request, model: String(request.body['model']) }),
  };
  return (
    <Tabs defaultValue="curl">
      <Tabs.List mb="sm">
        {Object.keys(snippets).map((name) => (
          <Tabs.Tab key={name} value={name}>
            {name}
          </Tabs.Tab>
        ))}
      </Tabs.List>
      {Object.entries(snippets).map(([name, code]) => (
        <Tabs.Panel key={name} value={name}>
          <CodeBlock code={code} {...block} />
        </Tabs.Panel>
      ))}
    </Tabs>
  );
}
