"""Labelled pairs for `privcert models check`, written by hand: for each statement, texts that support it and texts that
do not (they contradict it, or are silent about it)."""

from collections.abc import Mapping, Sequence

CHECK_PAIRS: Mapping[str, tuple[Sequence[str], Sequence[str]]] = {
    "The reviewer liked the food.": (
        [
            "Booked on a whim for my sister's birthday. Every plate that came out of that kitchen made us sigh with "
            "joy, from the crab starter to the lemon tart.",
            "Service dragged, and the chairs are hard, but the food was tasty and there was plenty of it.",
        ],
        [
            "My steak was overcooked and the sauce tasted of nothing but salt.",
            "Lovely terrace with a view over the harbour. We only had a glass of wine before the theatre.",
        ],
    ),
    "The reviewer was unhappy with the service.": (
        [
            "Our waiter was rude from the first minute and rolled his eyes when I asked about allergies.",
            "The soup was good. Then our main courses were never ordered, and nobody thought of telling us.",
        ],
        [
            "The waitress was friendly, remembered our names and brought crayons for the children.",
            "The curry was bland and the rice was stale.",
        ],
    ),
    "The reviewer liked the service.": (
        [
            "Antonio looked after us all evening, never pushy, and found us a quieter table without being asked.",
            "The staff was friendly and welcoming even though we came ten minutes before closing.",
        ],
        [
            "We were ignored for half an hour. The hostess was on her phone.",
            "Generous portions and fair prices. The pizza alone is worth the trip.",
        ],
    ),
    "The reviewer was unhappy with the prices.": (
        [
            "Eighteen dollars for a plain green salad? Overpriced, all of it.",
            "Good cooking, I give them that, but a week's groceries cost me less than what lands on the table here.",
        ],
        [
            "Cheap and cheerful: two courses and coffee, and the bill was a bargain.",
            "The room was so loud that we could not hear each other.",
        ],
    ),
    "The reviewer liked the prices.": (
        ["You will not find a better deal downtown, the lunch menu is really affordable and good value."],
        ["The bill was outrageous, we felt ripped off.", "A slow evening, and nobody refilled our water."],
    ),
    "The reviewer was unhappy with the atmosphere.": (
        ["Great noodles, but the atmosphere is awful: neon light and a radio that shouts at you."],
        ["Candles, soft jazz, brick walls. A wonderful atmosphere for a date.", "The noodles were cold."],
    ),
    "The reviewer would come back.": (
        ["We had a wonderful evening and have already booked a table for next month."],
        ["Never again. Go anywhere else.", "The tuna was fresh and the bread still warm."],
    ),
    "The reviewer had to wait a long time.": (
        ["Two bowls of pasta, one hour and ten minutes. I could have flown to Naples."],
        ["Seated at once, fed within ten minutes, out in forty. Perfect before a film."],
    ),
    "The reviewer liked the desserts.": (
        ["Skip the mains. The desserts are delicious, above all the plum cake."],
        ["For dessert we had a dry brownie with ice crystals in the ice cream."],
    ),
    "The restaurant was too loud.": (
        [
            "With the open kitchen, the music and a party of twelve next to us we had to shout across the table.",
            "Tasty food, though the noise gave me a headache.",
        ],
        ["It was so quiet that we could hear the rain.", "The fish was fresh, the wine list is short but fair."],
    ),
    "The reviewer got food poisoning.": (
        ["All three of us who had the oysters spent the night throwing up."],
        ["The oysters were the best I have had in years.", "The dining room smelled of bleach."],
    ),
    "The passenger's flight was delayed.": (
        [
            "We sat at the gate until midnight for a plane that should have left at seven.",
            "Crew was lovely, seats were fine, but we took off four hours late and missed our connection.",
        ],
        ["Left on the minute and landed early.", "My seat did not recline and the screen was broken."],
    ),
    "The airline lost the passenger's luggage.": (
        ["I landed in Lisbon and my suitcase did not. Nine days later nobody can tell me where it is."],
        [
            "My bag was the first on the belt.",
            "I paid sixty euros for a carry-on that fits every other airline.",
        ],
    ),
    "The passenger praises the cabin crew.": (
        ["A flight attendant noticed that my son was scared and sat with us during the landing. Wonderful people."],
        ["The crew threw the trays at us and vanished.", "The aircraft was new and the legroom was decent."],
    ),
    "The passenger had little legroom.": (
        ["I am six foot two and spent nine hours with my knees pressed against the seat in front."],
        ["Row 12 had so much space that I could stretch out.", "The meal was a cold cheese roll."],
    ),
    "The hotel room was dirty.": (
        ["There was hair in the shower, crumbs in the bed and a sticky ring on the night table."],
        ["Spotless room, fresh towels every day.", "The walls are thin: I know my neighbour's whole life now."],
    ),
    "The hotel is close to the beach.": (
        ["Step out of the lobby, cross one small road, and your feet are in the sand."],
        ["The beach is a forty minute bus ride away, which the website does not mention.", "Breakfast ends at nine."],
    ),
    "The customer asks for a refund.": (
        [
            "Hello, the jacket came in the wrong size. I sent it back on Monday, when do I get my money back?",
            "I was charged for a year although I left in March. Please return the payment to my card.",
        ],
        [
            "Could you send me the jacket one size larger? I do not want a refund, only the right size.",
            "How do I change the e-mail address of my account?",
        ],
    ),
    "The customer cannot log in.": (
        ["Your page keeps saying that my password is wrong, and the reset mail never arrives."],
        ["I am logged in, but the export button is grey.", "Where can I download the invoice for May?"],
    ),
    "The customer received a damaged product.": (
        ["The box looked fine, but the glass lid inside was in a hundred pieces."],
        ["The lid arrived safely, thanks for the careful packing.", "Is the lid oven-proof?"],
    ),
    "The customer threatens to cancel.": (
        ["If this is not solved by Friday I will end my contract and take my company elsewhere."],
        ["Please renew my contract for another year.", "The app is slow since the last update."],
    ),
    "The customer was charged twice.": (
        ["My statement shows the same 49.90 on the third and again on the fourth, for one order."],
        ["You charged the right amount, I only need a receipt.", "The parcel is two days late."],
    ),
    "The customer thanks the support team.": (
        ["Marta from your team solved this in five minutes, thank you so much!"],
        ["Three agents, three answers, and my printer still does not print."],
    ),
    "The user asks for help with a program.": (
        [
            "My Python script raises KeyError: 'price' in line 12, what am I doing wrong?",
            "Write a SQL query that lists customers who never ordered anything.",
        ],
        ["Plan a three day trip to Porto for a family with a toddler.", "What is a good name for a grey cat?"],
    ),
    "The user asks for a translation.": (
        ["How do I say 'the meeting has been moved to Thursday' in Polish?"],
        ["Shorten this paragraph to fifty words.", "Who won the first Tour de France?"],
    ),
    "The user asks for a recipe.": (
        ["I have leeks, two eggs and half a cup of cream. What can I cook for dinner tonight, step by step?"],
        ["How many calories are in an egg?", "Write a poem about my grandmother's kitchen table."],
    ),
    "The user seeks medical advice.": (
        ["I have had a dull pain under my left ribs for two weeks. Should I see a doctor, and what could it be?"],
        ["Explain how vaccines were invented for a school talk.", "Suggest warm-up exercises for a football team."],
    ),
    "The user wants a job application written.": (
        ["Draft a cover letter for a junior accountant position at a museum. I have one year of experience."],
        ["What does an accountant earn in Leeds?", "Rewrite my wedding speech so that it is funnier."],
    ),
    "The applicant complains about the length of the proceedings.": (
        [
            "Before the Court, the applicant submitted that nine years for a single inheritance dispute at two levels "
            "of jurisdiction could not be considered reasonable.",
        ],
        [
            "The applicant alleged that he had been beaten by two police officers during his arrest.",
            "The proceedings lasted seven months, of which the applicant made no complaint.",
        ],
    ),
    "The case is about a prison sentence.": (
        ["In 1998 the regional court convicted the applicant of robbery and sentenced him to six years' imprisonment."],
        ["The dispute concerned the boundary between two plots of farmland.", "The applicant was acquitted in 2001."],
    ),
    "The applicant was represented by a lawyer.": (
        ["The applicant was represented by Ms K. Lindqvist, an advocate practising in Gothenburg."],
        [
            "The applicant, who had no lawyer, presented her case herself.",
            "The Government were represented by their Agent.",
        ],
    ),
    "The court found a violation of the Convention.": (
        ["For these reasons, the Court unanimously holds that there has been a violation of Article 6 § 1."],
        ["The Court declares the application inadmissible.", "The applicant was born in 1951 and lives in Vienna."],
    ),
}
