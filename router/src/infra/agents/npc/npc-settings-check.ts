import type { SettingsProblem } from '../agent-kind.ts';
import { JsonTemplateError, parseJsonTemplate } from '../json-template.ts';
import { placeholderProblems } from '../message-template.ts';
import { capabilityOf } from './input/capabilities.ts';
import { checkedParams, NpcInputError } from './input/check-params.ts';
import type { NpcSettings } from './npc-settings.ts';

/** Mistakes in the settings of a route that their schema cannot express. */
export async function npcSettingsProblems({
  capability,
  params,
  output,
}: NpcSettings): Promise<SettingsProblem[]> {
  const problems: SettingsProblem[] = [];
  if (output !== undefined) {
    try {
      parseJsonTemplate(output);
    } catch (error) {
      if (!(error instanceof JsonTemplateError)) throw error;
      problems.push({ field: 'output', message: error.message });
    }
  }
  for (const message of placeholderProblems(params)) problems.push({ field: 'params', message });
  if (/\{\{\s*media\s*\}\}/.test(JSON.stringify(params ?? {}))) {
    problems.push({ field: 'params', message: 'uses {{media}}; tasks of the NPC Engine take no files' });
  }
  if (capability !== undefined && params) problems.push(...fixedParamProblems(capability, params));
  return problems;
}

/** Parameters without placeholders that the capability of the route does not accept. */
function fixedParamProblems(type: string, params: Record<string, unknown>): SettingsProblem[] {
  const capability = capabilityOf(type);
  return capability.params.flatMap((param) => {
    const value = params[param.name];
    if (value === undefined || JSON.stringify(value).includes('{{')) return [];
    try {
      checkedParams({ ...capability, params: [param] }, { [param.name]: value });
      return [];
    } catch (error) {
      if (!(error instanceof NpcInputError)) throw error;
      return [
        { field: `params.${param.name}`, message: error.message.replace(/^\S+ /, '').replace(/\.$/, '') },
      ];
    }
  });
}
