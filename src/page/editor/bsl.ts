// The 1C language (BSL), in Russian and English words: colours and what can be folded.
import {
  foldService,
  LanguageSupport,
  StreamLanguage,
  type StreamParser,
  type StringStream,
} from "@codemirror/language";
import type { EditorState } from "@codemirror/state";

const KEYWORDS = words(
  `Процедура КонецПроцедуры Функция КонецФункции Перем Экспорт Знач Асинх Ждать Если Тогда ИначеЕсли Иначе
   КонецЕсли Для Каждого Из По Цикл КонецЦикла Пока Попытка Исключение КонецПопытки ВызватьИсключение Возврат
   Прервать Продолжить Перейти Новый И Или Не Выполнить ДобавитьОбработчик УдалитьОбработчик
   Procedure EndProcedure Function EndFunction Var Export Val Async Await If Then ElsIf Else EndIf For Each In
   To Do While EndDo Try Except EndTry Raise Return Break Continue Goto New And Or Not Execute AddHandler
   RemoveHandler`,
);
const VALUES = words("Истина Ложь Неопределено Null True False Undefined");
const DEFINES = words("Процедура Функция Procedure Function");

function words(text: string): ReadonlySet<string> {
  return new Set(text.toLowerCase().split(/\s+/));
}

interface Place {
  /** Within a text that goes on in the next line. */
  text: boolean;
  /** The last word began a procedure or a function. */
  defines: boolean;
}

function text(stream: StringStream, place: Place): string {
  // A doubled quotation mark stands for one and is, coloured alike, the end of a text and the start of another.
  place.text = !stream.skipTo('"');
  if (place.text) stream.skipToEnd();
  else stream.next();
  return "string";
}

function word(stream: StringStream, place: Place, found: string): string | null {
  const name = found.toLowerCase();
  const defined = place.defines;
  place.defines = DEFINES.has(name);
  if (KEYWORDS.has(name)) return "keyword";
  if (VALUES.has(name)) return "atom";
  return defined || stream.match(/^\s*\(/, false) ? "variableName.function" : null;
}

function token(stream: StringStream, place: Place): string | null {
  if (place.text) {
    if (stream.sol() && stream.match(/^\s*\/\//)) {
      stream.skipToEnd();
      return "comment";
    }
    return text(stream, place);
  }
  if (stream.eatSpace()) return null;
  if (stream.match("//")) {
    stream.skipToEnd();
    return "comment";
  }
  if (stream.match(/^[#&][\p{L}_][\p{L}\d_]*/u)) return "meta";
  if (stream.eat('"')) return text(stream, place);
  if (stream.match(/^'[\d.:\s]*'/) || stream.match(/^\d+(\.\d+)?/)) return "number";
  // After a point stands a member, whatever its name.
  if (stream.match(/^\.[\p{L}_][\p{L}\d_]*/u)) {
    return stream.match(/^\s*\(/, false) ? "variableName.function" : null;
  }
  const found = stream.match(/^[\p{L}_][\p{L}\d_]*/u) as RegExpMatchArray | null;
  if (found) return word(stream, place, found[0]);
  if (stream.match(/^~[\p{L}\d_]*/u)) return "labelName";
  stream.next();
  return null;
}

/** Colours for BSL, for any tool that takes a stream parser. */
export const bslParser: StreamParser<Place> = {
  name: "bsl",
  startState: () => ({ text: false, defines: false }),
  token,
  languageData: { commentTokens: { line: "//" }, closeBrackets: { brackets: ["(", "[", '"'] } },
};

const OPENS =
  /^\s*(?:#(?:Область|Region)|(?:Асинх\s+|Async\s+)?(?:Процедура|Функция|Procedure|Function))(?![\p{L}\d_])/iu;
const REGION = /^\s*#(?:Область|Region)(?![\p{L}\d_])/iu;
const REGION_ENDS = /^\s*#(?:КонецОбласти|EndRegion)(?![\p{L}\d_])/iu;
const ENDS = /^\s*(?:КонецПроцедуры|КонецФункции|EndProcedure|EndFunction)(?![\p{L}\d_])/iu;
/** Lines after which the end of a long region is no longer looked for. */
const FOLD_MAX = 20_000;

/** From the end of the line that opens a procedure or a region to the end of the one that closes it. */
export function fold(state: EditorState, start: number): { from: number; to: number } | null {
  const opening = state.doc.lineAt(start);
  if (!OPENS.test(opening.text)) return null;
  const region = REGION.test(opening.text);
  let depth = 1;
  for (let n = opening.number + 1; n <= Math.min(state.doc.lines, opening.number + FOLD_MAX); n++) {
    const line = state.doc.line(n);
    if (region && REGION.test(line.text)) depth++;
    if ((region ? REGION_ENDS : ENDS).test(line.text) && --depth === 0)
      return { from: opening.to, to: line.to };
  }
  return null;
}

/** The language for an editor. */
export function bsl(): LanguageSupport {
  return new LanguageSupport(StreamLanguage.define(bslParser), foldService.of(fold));
}
