/** A text of one kind, and what OpenAI's o200k_base counts in it (gpt-tokenizer 4, measured once). */
export interface TokenSample {
  of: string;
  o200k: number;
  /** How far off the estimate may be, as a share. */
  within: number;
  text: string;
}

/** What most prompts are made of. */
const STRICT = 0.06;
const LOOSE = 0.1;
/** Frequent emoji are a token, rare ones three: no rule knows which. */
const VAGUE = 0.25;

export const TOKEN_SAMPLES: TokenSample[] = [
  {
    of: 'English prose',
    o200k: 173,
    within: STRICT,
    text: `Yesterday afternoon we rolled out the new payment service to the staging environment and noticed that whenever a customer submits two orders at the same time, the status of the second one stays at "processing" forever. I went through the logs, and I suspect that the lock in the database isn't released in time. Could you please check the code below, explain what causes the problem, and propose a fix that doesn't need a change to the table's schema? I'd also like a short note for our support team.
A router sits between the programs that ask and the models that answer. It checks who is calling, counts the request once, picks a provider that is up, and hands the words back as they come. When a provider fails before the first word, another one takes over and nobody notices; when it fails later, the answer ends with an error instead of silence.`,
  },
  {
    of: 'Markdown',
    o200k: 125,
    within: STRICT,
    text: `## Getting started

1. Install the CLI with \`npm install -g example-cli\`.
2. Run \`example login\` and paste the key from **Settings > Keys**.
3. Start the server:

\`\`\`sh
example serve --port 8080 --verbose
\`\`\`

> **Note:** keys expire after 90 days. See the [security guide](https://example.com/docs/security#rotation).

| Option | Default | Meaning |
|---|---|---|
| \`--port\` | \`3000\` | where the server listens |
| \`--verbose\` | off | logs every request |`,
  },
  {
    of: 'TypeScript',
    o200k: 174,
    within: STRICT,
    text: `import { readFile } from 'node:fs/promises';
import type { Invoice, LineItem } from './types.ts';

/** Net total of an invoice in cents; discounts never make it negative. */
export const totalOf = (items: LineItem[], discount = 0): number => {
  const sum = items.reduce((total, { price, quantity }) => total + price * quantity, 0);
  return Math.max(0, Math.round(sum * (1 - discount)));
};

export async function loadInvoice(path: string): Promise<Invoice> {
  const parsed: unknown = JSON.parse(await readFile(path, 'utf8'));
  if (!isInvoice(parsed)) {
    throw new TypeError(\`\${path} is not an invoice\`);
  }
  return { ...parsed, total: totalOf(parsed.items, parsed.discount) };
}`,
  },
  {
    of: 'Python',
    o200k: 176,
    within: STRICT,
    text: `from dataclasses import dataclass, field
from collections import defaultdict

@dataclass
class Inventory:
    """Counts of articles by warehouse."""
    stock: dict[str, int] = field(default_factory=lambda: defaultdict(int))

    def receive(self, article: str, count: int) -> None:
        if count <= 0:
            raise ValueError(f"cannot receive {count} of {article!r}")
        self.stock[article] += count

    def ship(self, article: str, count: int) -> bool:
        if self.stock.get(article, 0) < count:
            return False
        self.stock[article] -= count
        return True


if __name__ == "__main__":
    inventory = Inventory()
    inventory.receive("chair", 12)
    print(inventory.ship("chair", 5), inventory.stock)`,
  },
  {
    of: 'JSON',
    o200k: 171,
    within: STRICT,
    text: `{
  "model": "example-large",
  "max_tokens": 1024,
  "temperature": 0.2,
  "messages": [
    { "role": "system", "content": "Answer in one sentence." },
    { "role": "user", "content": "What is the capital of France?" }
  ],
  "tools": [
    {
      "type": "function",
      "function": {
        "name": "get_weather",
        "description": "Current weather at a place",
        "parameters": {
          "type": "object",
          "properties": { "city": { "type": "string" }, "unit": { "enum": ["celsius", "fahrenheit"] } },
          "required": ["city"]
        }
      }
    }
  ]
}`,
  },
  {
    of: 'JSON without blanks',
    o200k: 129,
    within: 0.05,
    text: `{"id":"chatcmpl-123","object":"chat.completion.chunk","created":1694268190,"model":"example-large","choices":[{"index":0,"delta":{"role":"assistant","content":"Hello"},"logprobs":null,"finish_reason":null}],"usage":{"prompt_tokens":9,"completion_tokens":12,"total_tokens":21,"prompt_tokens_details":{"cached_tokens":0}},"items":[{"sku":"A-100","price":19.99,"tags":["new","sale"],"stock":true},{"sku":"B-200","price":5,"tags":[],"stock":false}]}`,
  },
  {
    of: 'A diff',
    o200k: 138,
    within: LOOSE,
    text: `diff --git a/src/cart.ts b/src/cart.ts
index 3f1c2ab..9d04e77 100644
--- a/src/cart.ts
+++ b/src/cart.ts
@@ -14,9 +14,11 @@ export class Cart {
   add(item: Item): void {
-    this.items.push(item);
-    this.total += item.price;
+    const known = this.items.find(({ sku }) => sku === item.sku);
+    if (known) known.quantity += 1;
+    else this.items.push({ ...item, quantity: 1 });
+    this.recount();
   }
 
   clear(): void {`,
  },
  {
    of: 'Minified JavaScript',
    o200k: 194,
    within: LOOSE,
    text: `"use strict";var n=Object.defineProperty;var r=(e,t)=>{for(var o in t)n(e,o,{get:t[o],enumerable:!0})};function i(e,t=0){return e==null?t:typeof e=="number"?e:Number.parseInt(e,10)||t}var s=class{constructor(e={}){this.a=e,this.b=new Map,this.c=[]}on(e,t){let o=this.b.get(e)??[];return o.push(t),this.b.set(e,o),()=>this.off(e,t)}off(e,t){this.b.set(e,(this.b.get(e)??[]).filter(o=>o!==t))}emit(e,...t){for(let o of this.b.get(e)??[])try{o(...t)}catch(u){this.c.push(u)}return this.c.length===0}};module.exports={Emitter:s,toInt:i,__esModule:!0};`,
  },
  {
    of: 'A lock file',
    o200k: 313,
    within: LOOSE,
    text: `"node_modules/accepts": {
      "version": "2.0.0",
      "resolved": "https://registry.npmjs.org/accepts/-/accepts-2.0.0.tgz",
      "integrity": "sha512-Ns4mgjD4ROJgnWwY5fRkpg9cFz4zNXmw1PfhIbEL/by0wD1u30LSZgV+di2/hryTAYkMURF44Tg96uL/uby2rw==",
      "license": "MIT",
      "dependencies": {
        "mime-types": "^3.0.0",
        "negotiator": "^1.0.0"
      },
      "engines": {
        "node": ">= 0.6"
      }
    },
    "node_modules/array-flatten": {
      "version": "3.0.0",
      "resolved": "https://registry.npmjs.org/array-flatten/-/array-flatten-3.0.0.tgz",
      "integrity": "sha512-T+LGEQ7/LD1xF1e5QFL8EEZp/fW8JsqfVTtn5D1mGwfysEN24JT9KkNEIC5ZyQGnk9VKXu9QnCZye3PI93johw==",
      "license": "MIT"
    },`,
  },
  {
    of: 'A log with UUIDs',
    o200k: 272,
    within: LOOSE,
    text: `2026-11-21T18:22:13.441Z INFO  [0e31a210-7ff0-495e-810d-ff86a9a1689c] GET /v1/orders/75f34c66-7d5f-4c62-94ad-bba06285301b 200 41ms
2026-11-21T18:22:13.502Z WARN  [39dd0257-868a-4cb5-b755-f702f79363a4] upstream slow: 2981ms, retry 1 of 3
2026-11-21T18:22:14.007Z INFO  [321c0aa4-b31f-47ac-83f9-3c802b06c49a] POST /v1/orders 201 88ms user=48561d63-52eb-4455-8140-5adf984c42c6
2026-11-21T18:22:15.310Z ERROR [281448f9-ced9-4969-91a2-d5825df4ba1c] ECONNRESET 10.0.14.7:5432 pool=orders-rw attempt=2`,
  },
  {
    of: 'Hex',
    o200k: 151,
    within: LOOSE,
    text: `6f151fb68b541609b59684e77bf71267a1e1dc6a14ae2c0241e8150111097056
dfbdc0194735ba6db6a2e442c42d2a6ec48c10fa6fc72caa80d885f0e0acca7c
ab872f75df1fb1e92b9ea11748cd7aafa5e1dd3c17b03abe0ae2897afa614dbc
2e0c84a91351acc77ec6271fc5817bfb7db4aaafb3bc724fe1c2ef491d4f829b`,
  },
  {
    of: 'Base64',
    o200k: 189,
    within: LOOSE,
    text: `CllTjKjHE9fZBr1RPLK5YENlsUigkuiiiCMebeD6a9JCQ2W2Xy5zw1sjdWWjb1vivxMnSzahRAVKQMN6kzyXuLztXAc2ALHnzi+2/CCgJbxLRIEz23X8SJRlEmtj6vg8rvAp6XGGuOnoO4IdRZuxpsyv4P/zRH/Vdqwz9sWmiJBVOIoPPuOv7CbVKcw6+tkMi4tqjL14YLdQQdSiLiwtt4jAmtyNUAHuNKlZaFXqLLEOr7JXnisaZE3m6IDjlJ6Qp13CVMrkGAfvqTM1TmCpksU0`,
  },
  {
    of: 'Emoji',
    o200k: 157,
    within: VAGUE,
    text: `Great job everyone! 🎉🎉🎉 We shipped it 🚀🔥 and nobody panicked 😅😂🤣 Thanks to the whole team 👏👏🏽👩‍💻👨‍👩‍👧‍👦 ❤️💙💚 see you at the party 🍕🍻🥳 tomorrow ☀️⛅🌧️
Release 4.2 is out 🎊🚀 Thanks to everyone who tested it 🙌🧑‍💻 Known issues: dark mode flickers 🌙⚡, uploads over 2 GB fail 📁❌, search is slow 🐢. Next week: 🔐 passkeys, 🌍 translations, 🧹 cleanup. Questions? 💬👇 😊❤️🔥`,
  },
  {
    of: 'German',
    o200k: 177,
    within: 0.1,
    text: `Gestern Nachmittag haben wir den neuen Zahlungsdienst in die Testumgebung ausgerollt und festgestellt, dass der Status der zweiten Bestellung immer auf „in Bearbeitung“ stehen bleibt, wenn ein Benutzer zwei Bestellungen gleichzeitig abschickt. Ich habe mir die Protokolle angesehen und vermute, dass die Sperre in der Datenbank nicht rechtzeitig freigegeben wird. Bitte prüfe den folgenden Quelltext, erkläre die Ursache des Problems und schlage eine Lösung vor, bei der die Tabellenstruktur nicht geändert werden muss.
Der Router sitzt zwischen den Anwendungen und den großen Sprachmodellen. Zuerst prüft er den Schlüssel und das verbliebene Kontingent, dann gibt er die Anfrage an einen verfügbaren Anbieter weiter und liefert die Antwort Wort für Wort zurück. Fällt ein Anbieter vor dem ersten Wort aus, übernimmt der nächste, ohne dass es jemand merkt.`,
  },
  {
    of: 'French',
    o200k: 179,
    within: LOOSE,
    text: `Hier après-midi, nous avons déployé le nouveau service de paiement dans l'environnement de test et nous avons constaté que, lorsqu'un utilisateur envoie deux commandes en même temps, l'état de la seconde reste toujours « en cours de traitement ». J'ai regardé les journaux et je soupçonne que le verrou de la base de données n'est pas libéré à temps. Peux-tu vérifier le code ci-dessous, expliquer la cause du problème et proposer une solution qui n'oblige pas à modifier la structure de la table ?
Le routeur se trouve entre les applications et les grands modèles de langage. Il vérifie d'abord la clé et le quota restant, puis transmet la requête à un fournisseur disponible et renvoie la réponse mot à mot. Si un fournisseur échoue avant le premier mot, le suivant prend le relais sans que personne ne s'en aperçoive.`,
  },
  {
    of: 'Spanish',
    o200k: 161,
    within: LOOSE,
    text: `Ayer por la tarde desplegamos el nuevo servicio de pagos en el entorno de pruebas y vimos que, cuando un usuario envía dos pedidos al mismo tiempo, el estado del segundo se queda siempre en «procesando». He mirado los registros y sospecho que el bloqueo de la base de datos no se libera a tiempo. Por favor, revisa el código de abajo, explica la causa del problema y propón una solución que no exija cambiar la estructura de la tabla.
El enrutador está entre las aplicaciones y los grandes modelos de lenguaje. Primero comprueba la clave y la cuota restante, luego pasa la petición a un proveedor disponible y devuelve la respuesta palabra por palabra. Si un proveedor falla antes de la primera palabra, el siguiente toma el relevo sin que nadie lo note.`,
  },
  {
    of: 'Polish',
    o200k: 219,
    within: LOOSE,
    text: `Wczoraj po południu wdrożyliśmy nową usługę płatności w środowisku testowym i zauważyliśmy, że gdy użytkownik wysyła dwa zamówienia jednocześnie, status drugiego zamówienia zawsze pozostaje „w trakcie realizacji”. Przejrzałem logi i podejrzewam, że blokada w bazie danych nie jest zwalniana na czas. Sprawdź, proszę, poniższy kod, wyjaśnij przyczynę problemu i zaproponuj rozwiązanie, które nie wymaga zmiany struktury tabeli.
Router stoi między aplikacjami a dużymi modelami językowymi. Najpierw sprawdza klucz i pozostały limit, potem przekazuje żądanie dostępnemu dostawcy i zwraca odpowiedź słowo po słowie. Jeśli dostawca zawiedzie przed pierwszym słowem, zastępuje go następny, a użytkownik niczego nie zauważa.`,
  },
  {
    of: 'Russian',
    o200k: 183,
    within: LOOSE,
    text: `Вчера днём мы развернули новый платёжный сервис в тестовой среде и обнаружили, что если пользователь отправляет два заказа одновременно, статус второго заказа навсегда остаётся «в обработке». Я посмотрел логи и подозреваю, что блокировка в базе данных не снимается вовремя. Проверь, пожалуйста, код ниже, объясни причину проблемы и предложи решение, которое не требует менять структуру таблицы.
Маршрутизатор моделей стоит между приложениями и большими языковыми моделями. Сначала он проверяет ключ и остаток квоты, затем передаёт запрос доступному поставщику и возвращает ответ по частям. Если поставщик отказал до первого слова, маршрутизатор сам переходит к следующему, и пользователь этого не замечает. Каждую ночь администратор получает отчёт о расходах.`,
  },
  {
    of: 'Chinese',
    o200k: 292,
    within: LOOSE,
    text: `昨天下午我们把新的支付服务部署到了测试环境,结果发现每当用户同时提交两个订单时,第二个订单的状态会一直停留在“处理中”。我查看了日志,怀疑是数据库的锁没有及时释放。请帮我检查一下下面这段代码,解释问题出在哪里,并给出一个不需要修改表结构的解决办法。另外,周末之前我还想写一份简短的说明文档,让客服同事知道遇到这种情况时应该怎样回复客户。
春天来了,公园里的樱花开得正好。老人们坐在长椅上晒太阳,孩子们在草地上追着风筝跑来跑去。我买了一杯热咖啡,慢慢地走过那座石桥,忽然想起小时候和外婆一起在河边洗衣服的日子。
模型路由器位于应用程序和大语言模型之间。它先检查调用者的密钥和剩余额度,再把请求转发给当前可用的服务商,并把回答逐字传回来。如果某个服务商在给出第一个字之前失败,路由器会自动换到下一个,用户不会察觉。每天晚上十二点,系统会生成一份用量报告,方便管理员了解各个团队花了多少钱。`,
  },
  {
    of: 'Japanese',
    o200k: 356,
    within: LOOSE,
    text: `昨日の午後、新しい決済サービスをテスト環境にデプロイしたところ、ユーザーが同時に二つの注文を送信すると、二つ目の注文のステータスが「処理中」のまま変わらないことに気づきました。ログを確認しましたが、データベースのロックがすぐに解放されていないのではないかと思います。以下のコードを確認して、問題の原因を説明し、テーブルの構造を変更しなくても済む解決方法を教えてください。
春になって、公園の桜がちょうど見頃を迎えています。お年寄りたちはベンチに座って日なたぼっこをし、子どもたちは芝生の上で凧を追いかけて走り回っていました。私は温かいコーヒーを買い、ゆっくりと石の橋を渡りながら、祖母と川で洗濯をした子どもの頃のことをふと思い出しました。
モデルルーターは、アプリケーションと大規模言語モデルの間に置かれます。まず呼び出し元のキーと残りの利用枠を確認し、次に利用できるプロバイダーへリクエストを転送して、回答を少しずつ返します。最初の文字が届く前にプロバイダーが失敗した場合は、自動的に次のプロバイダーへ切り替わるため、利用者は気づきません。`,
  },
  {
    of: 'Korean',
    o200k: 277,
    within: LOOSE,
    text: `어제 오후에 새로운 결제 서비스를 테스트 환경에 배포했는데, 사용자가 동시에 두 개의 주문을 제출하면 두 번째 주문의 상태가 계속 "처리 중"으로 남아 있는 것을 발견했습니다. 로그를 확인해 보니 데이터베이스 잠금이 제때 해제되지 않는 것 같습니다. 아래 코드를 검토해서 문제의 원인을 설명하고, 테이블 구조를 바꾸지 않아도 되는 해결 방법을 알려 주세요.
봄이 와서 공원에 벚꽃이 활짝 피었다. 노인들은 벤치에 앉아 햇볕을 쬐고 아이들은 잔디밭에서 연을 따라 뛰어다녔다. 나는 따뜻한 커피 한 잔을 사서 천천히 돌다리를 건너다가 문득 어린 시절 할머니와 함께 강가에서 빨래하던 날이 떠올랐다.
모델 라우터는 애플리케이션과 대규모 언어 모델 사이에 있습니다. 먼저 호출한 사람의 키와 남은 한도를 확인한 다음, 사용할 수 있는 제공자에게 요청을 전달하고 답변을 조금씩 돌려줍니다. 첫 글자가 나오기 전에 제공자가 실패하면 자동으로 다음 제공자로 넘어가기 때문에 사용자는 알아차리지 못합니다.`,
  },
  {
    of: 'Hindi',
    o200k: 200,
    within: LOOSE,
    text: `कल दोपहर हमने नई भुगतान सेवा को परीक्षण वातावरण में लगाया और देखा कि जब कोई उपयोगकर्ता एक साथ दो ऑर्डर भेजता है तो दूसरे ऑर्डर की स्थिति हमेशा "प्रक्रिया में" ही रहती है। मैंने लॉग देखे हैं और मुझे लगता है कि डेटाबेस का ताला समय पर नहीं खुल रहा है। कृपया नीचे दिए गए कोड को जाँचें, समस्या का कारण समझाएँ और ऐसा उपाय बताएँ जिसमें तालिका की संरचना न बदलनी पड़े।
मॉडल राउटर अनुप्रयोगों और बड़े भाषा मॉडलों के बीच में रहता है। वह पहले कुंजी और बची हुई सीमा की जाँच करता है, फिर अनुरोध को किसी उपलब्ध प्रदाता के पास भेजता है और उत्तर को थोड़ा-थोड़ा करके लौटाता है। अगर पहला शब्द आने से पहले प्रदाता विफल हो जाए तो वह अपने आप अगले प्रदाता पर चला जाता है और उपयोगकर्ता को पता नहीं चलता।`,
  },
  {
    of: 'Arabic',
    o200k: 183,
    within: LOOSE,
    text: `قمنا بعد ظهر أمس بنشر خدمة الدفع الجديدة في بيئة الاختبار، ولاحظنا أنه عندما يرسل المستخدم طلبين في الوقت نفسه تبقى حالة الطلب الثاني "قيد المعالجة" إلى الأبد. راجعت السجلات وأظن أن قفل قاعدة البيانات لا يتحرر في الوقت المناسب. من فضلك افحص الشيفرة أدناه واشرح سبب المشكلة واقترح حلاً لا يتطلب تغيير بنية الجدول.
يقع موجّه النماذج بين التطبيقات والنماذج اللغوية الكبيرة. يتحقق أولاً من المفتاح ومن الرصيد المتبقي، ثم يرسل الطلب إلى مزود متاح ويعيد الإجابة كلمة بعد كلمة. وإذا فشل المزود قبل الكلمة الأولى انتقل تلقائياً إلى المزود التالي دون أن يلاحظ المستخدم شيئاً. وفي كل ليلة يصل إلى المدير تقرير عن التكاليف.`,
  },
  {
    of: 'Hebrew',
    o200k: 200,
    within: LOOSE,
    text: `אתמול אחר הצהריים העלינו את שירות התשלומים החדש לסביבת הבדיקות, וגילינו שכאשר משתמש שולח שתי הזמנות בו זמנית, הסטטוס של ההזמנה השנייה נשאר תמיד "בטיפול". בדקתי את היומנים ואני חושד שהנעילה של מסד הנתונים לא משתחררת בזמן. בבקשה בדוק את הקוד שלמטה, הסבר מה גורם לבעיה והצע פתרון שאינו דורש לשנות את מבנה הטבלה.
נתב המודלים נמצא בין היישומים למודלי השפה הגדולים. תחילה הוא בודק את המפתח ואת המכסה שנותרה, אחר כך מעביר את הבקשה לספק זמין ומחזיר את התשובה מילה אחר מילה. אם הספק נכשל לפני המילה הראשונה, הוא עובר מעצמו לספק הבא והמשתמש אינו מרגיש בכך.`,
  },
  {
    of: 'Thai',
    o200k: 228,
    within: LOOSE,
    text: `เมื่อวานตอนบ่ายเราติดตั้งบริการชำระเงินใหม่ในระบบทดสอบ และพบว่าเมื่อผู้ใช้ส่งคำสั่งซื้อสองรายการพร้อมกัน สถานะของคำสั่งซื้อที่สองจะค้างอยู่ที่ "กำลังดำเนินการ" ตลอดเวลา ผมตรวจสอบบันทึกแล้วและสงสัยว่าฐานข้อมูลไม่ได้ปลดล็อกทันเวลา กรุณาตรวจสอบโค้ดด้านล่าง อธิบายสาเหตุของปัญหา และเสนอวิธีแก้ไขที่ไม่ต้องเปลี่ยนโครงสร้างของตาราง
ตัวจัดเส้นทางโมเดลอยู่ระหว่างแอปพลิเคชันกับโมเดลภาษาขนาดใหญ่ มันตรวจสอบกุญแจและโควตาที่เหลือก่อน จากนั้นส่งคำขอไปยังผู้ให้บริการที่พร้อมใช้งาน แล้วส่งคำตอบกลับมาทีละคำ ถ้าผู้ให้บริการล้มเหลวก่อนคำแรก ระบบจะเปลี่ยนไปใช้รายถัดไปโดยอัตโนมัติ`,
  },
];
