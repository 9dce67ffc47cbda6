import { useState } from 'preact/hooks';
import { useTexts } from '../../app/language.ts';
import { TextArea } from '../../components/form.tsx';
import { Card } from '../../components/page.tsx';
import { isObject, mistakeAt, type mistakesOf, type RouteDraft } from './route-draft.ts';
import { parsed } from './schema-inputs.tsx';

/** The config of a route as JSON, with the address of its agent. */
export function RawConfig(props: {
  draft: RouteDraft;
  mistakes: ReturnType<typeof mistakesOf>;
  onChange: (change: Partial<RouteDraft>, isJson: boolean) => void;
}) {
  const text = useTexts('routes');
  const { agentEndpoint, config } = props.draft;
  const [shown, setShown] = useState(() =>
    JSON.stringify({ ...(agentEndpoint !== '' && { agentEndpoint }), config }, null, 2),
  );
  const [isBroken, setBroken] = useState(false);
  const change = (next: string) => {
    setShown(next);
    const value = parsed(next);
    const isJson = isObject(value) && isObject(value.config);
    setBroken(!isJson);
    if (!isJson) return props.onChange({}, false);
    const address = typeof value.agentEndpoint === 'string' ? value.agentEndpoint : '';
    props.onChange({ agentEndpoint: address, config: value.config as RouteDraft['config'] }, true);
  };
  const error = isBroken ? text.badJson : mistakeAt(props.mistakes, 'config');
  return (
    <Card title={text.agent}>
      <TextArea
        isCode
        rows={18}
        label={text.rawLabel}
        value={shown}
        onInput={change}
        {...(error !== undefined && { error })}
      />
    </Card>
  );
}
