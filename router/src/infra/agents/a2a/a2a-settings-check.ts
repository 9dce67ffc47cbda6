import type { SettingsProblem } from '../agent-kind.ts';
import { JsonTemplateError, parseJsonTemplate } from '../json-template.ts';
import type { A2aSettings } from './a2a-settings.ts';

/** Mistakes in the settings of a route that their schema cannot express. */
export async function a2aSettingsProblems({ output }: A2aSettings): Promise<SettingsProblem[]> {
  if (output === undefined) return [];
  try {
    parseJsonTemplate(output);
    return [];
  } catch (error) {
    if (!(error instanceof JsonTemplateError)) throw error;
    return [{ field: 'output', message: error.message }];
  }
}
